/* SPDX-License-Identifier: ISC */
#include "conf/config.h"

#include "base/mem.h"
#include "conf/settings.h"
#include "conf/store_url.h"
#include "conf/suggest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sections that the format has and this version does not. */
static const char *const later_sections[] = {"job", "schedule", "http"};

static void *object_of(struct config *config, const struct setting *setting)
{
    return setting->group == SETTING_JOB ? (void *)&config->job : (void *)config;
}

void config_init(struct config *config)
{
    *config = (struct config){0};
    for (size_t i = 0; i < settings_count; i++)
        settings_put_initial(&settings[i], object_of(config, &settings[i]));
}

void config_done(struct config *config)
{
    free(config->path);
    free(config->job.name);
    free(config->job.key);
    mem_wipe(config->store_option);
    mem_wipe(config->store_url);
    free(config->store_url_file);
    free(config->schema);
    *config = (struct config){0};
}

static bool is_known_section(const char *name)
{
    for (int group = 0; group < SETTING_GROUP_COUNT; group++) {
        const char *section = settings_section((enum setting_group)group);
        if (section != NULL && strcmp(section, name) == 0)
            return true;
    }
    return false;
}

static bool is_later_section(const char *name)
{
    size_t length = strcspn(name, " ");
    for (size_t i = 0; i < sizeof later_sections / sizeof later_sections[0]; i++)
        if (strlen(later_sections[i]) == length && strncmp(later_sections[i], name, length) == 0)
            return true;
    return false;
}

static bool refuse_section(const struct ini_section *section, struct ini_faults *faults)
{
    struct error error;
    const char *nearest = NULL;
    if (is_later_section(section->name))
        return ini_faults_add(faults, section->line,
                              "this version has no [%s] sections: only [store], [log] and "
                              "[defaults]",
                              section->name);
    for (int group = 0; group < SETTING_GROUP_COUNT; group++) {
        const char *name = settings_section((enum setting_group)group);
        if (name != NULL)
            nearest = suggest_nearer(section->name, nearest, name);
    }
    error_set(&error, ERROR_CONFIG, "there is no section [%s]", section->name);
    suggest_add(&error, nearest, "");
    return ini_faults_add(faults, section->line, "%s", error.text);
}

static bool refuse_key(const struct ini_entry *entry, const char *section,
                       struct ini_faults *faults)
{
    struct error error;
    const char *nearest = NULL;
    for (size_t i = 0; i < settings_count; i++) {
        const char *own = settings_section(settings[i].group);
        if (settings[i].key != NULL && own != NULL && strcmp(own, section) == 0)
            nearest = suggest_nearer(entry->key, nearest, settings[i].key);
    }
    error_set(&error, ERROR_CONFIG, "[%s] has no key \"%s\"", section, entry->key);
    suggest_add(&error, nearest, "");
    return ini_faults_add(faults, entry->line, "%s", error.text);
}

/* "3m ; note", "3m # note": values go to the end of the line. */
static bool has_comment(const char *value)
{
    return strstr(value, " ;") != NULL || strstr(value, " #") != NULL;
}

static bool put_entry(struct config *config, const struct ini_text *text,
                      const struct ini_entry *entry, struct ini_faults *faults)
{
    struct error error;
    const char *section = text->sections[entry->section].name;
    if (!is_known_section(section))
        return false;
    const struct setting *setting = settings_find_key(section, entry->key);
    if (setting == NULL)
        return refuse_key(entry, section, faults);
    if (!settings_put(setting, entry->value, object_of(config, setting), &error))
        return ini_faults_add(faults, entry->line, "%s: %s%s", entry->key, error.text,
                              has_comment(entry->value) ? "; a comment needs a line of its own"
                                                        : "");
    return true;
}

static const struct ini_entry *find_entry(const struct ini_text *text, const char *section,
                                          const char *key)
{
    for (size_t i = 0; i < text->entry_count; i++)
        if (strcmp(text->sections[text->entries[i].section].name, section) == 0 &&
            strcmp(text->entries[i].key, key) == 0)
            return &text->entries[i];
    return NULL;
}

/* What no single key shows. */
static void check_store(const struct ini_text *text, struct ini_faults *faults)
{
    const struct ini_entry *url = find_entry(text, "store", "url");
    const struct ini_entry *url_file = find_entry(text, "store", "url-file");
    if (url != NULL && url_file != NULL)
        ini_faults_add(faults, url_file->line,
                       "url-file stands beside url in line %d: keep one of them", url->line);
    if (url != NULL && (text->mode & S_IROTH) != 0 && store_url_has_password(url->value))
        ini_faults_add(faults, url->line,
                       "url holds a password and every user may read this file: chmod o-r it, or "
                       "use url-file");
}

bool config_read(struct config *config, const char *path, bool must_exist,
                 struct ini_faults *faults)
{
    struct ini_text text;
    size_t before = faults->count;
    ini_text_read(path, must_exist, &text, faults);
    for (size_t i = 0; i < text.section_count; i++)
        if (!is_known_section(text.sections[i].name))
            refuse_section(&text.sections[i], faults);
    for (size_t i = 0; i < text.entry_count; i++)
        put_entry(config, &text, &text.entries[i], faults);
    check_store(&text, faults);
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
