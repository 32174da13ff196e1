/* SPDX-License-Identifier: ISC */
#include "conf/config.h"

#include "base/mem.h"
#include "conf/config_reader.h"
#include "conf/settings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *config_object(struct config *config, const struct setting *setting)
{
    switch (setting->group) {
    case SETTING_RUN:
    case SETTING_JOB:
    case SETTING_TABLE:
        return &config->job;
    case SETTING_FILE:
    case SETTING_STORE:
    case SETTING_LOG:
    case SETTING_SCHEDULE:
    case SETTING_COMMAND:
        return config;
    }
    return config;
}

void config_init(struct config *config)
{
    const struct setting *setting = NULL;
    *config = (struct config){0};
    while ((setting = settings_next(setting)) != NULL)
        settings_put_initial(setting, config_object(config, setting));
}

void config_done(struct config *config)
{
    const struct setting *setting = NULL;
    while ((setting = settings_next(setting)) != NULL)
        if (setting->type == SETTING_TEXT)
            mem_wipe(*(char **)((char *)config_object(config, setting) + setting->offset));
    free(config->job.name);
    free(config->store_file);
    *config = (struct config){0};
}

void config_drop_table_settings(struct config *config)
{
    const struct setting *setting = NULL;
    while ((setting = settings_next(setting)) != NULL)
        if (setting->group == SETTING_JOB && setting->option == NULL)
            settings_put_back(setting, &config->job);
}

bool config_read(struct config *config, const char *path, bool must_exist,
                 struct ini_faults *faults)
{
    struct ini_text text;
    struct config_reader reader;
    size_t before = faults->count;
    config_reader_init(&reader, config, faults);
    ini_text_read(path, must_exist, &text, faults);
    config_reader_take(&reader, &text, 0);
    config_reader_finish(&reader);
    ini_faults_sort(faults);
    ini_text_done(&text);
    return faults->count == before;
}

struct log config_open_log(const struct config *config)
{
    enum level least = LEVEL_ERROR;
    if (!config->is_quiet && config->log_level == CONFIG_LEVEL_AUTO)
        least = isatty(STDERR_FILENO) ? LEVEL_INFO : LEVEL_WARN;
    else if (!config->is_quiet)
        least = (enum level)config->log_level;
    return log_open(STDERR_FILENO, least, config->log_format);
}
