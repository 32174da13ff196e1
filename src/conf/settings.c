/* SPDX-License-Identifier: ISC */
#include "conf/settings.h"

#include "base/mem.h"
#include "base/text.h"
#include "conf/settings_rows.h"
#include "conf/suggest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct setting_rows *const topics[] = {&settings_general, &settings_run, &settings_job,
                                                    &settings_hook};
#define TOPIC_COUNT (sizeof topics / sizeof topics[0])

const struct setting *settings_next(const struct setting *previous)
{
    if (previous == NULL)
        return topics[0]->rows;
    for (size_t i = 0; i < TOPIC_COUNT; i++) {
        const struct setting *last = topics[i]->rows + topics[i]->count - 1;
        if (previous == last)
            return i + 1 < TOPIC_COUNT ? topics[i + 1]->rows : NULL;
        if (previous >= topics[i]->rows && previous < last)
            return previous + 1;
    }
    return NULL;
}

size_t settings_number(const struct setting *setting)
{
    size_t before = 0;
    for (size_t i = 0; i < TOPIC_COUNT; i++) {
        const struct setting *rows = topics[i]->rows;
        if (setting >= rows && setting < rows + topics[i]->count)
            return before + (size_t)(setting - rows);
        before += topics[i]->count;
    }
    return before;
}

const struct setting_section settings_sections[] = {
    {
        .name = "store",
        .title = "store",
        .about = "Where leases and runs live. Options and the environment (LEASERUN_STORE, "
                 "LEASERUN_STORE_FILE) come first.",
        .groups = SETTING_MASK(SETTING_STORE),
        .told = SETTING_MASK(SETTING_STORE),
    },
    {
        .name = "log",
        .title = "log",
        .about = "What leaserun itself prints on stderr.",
        .groups = SETTING_MASK(SETTING_LOG),
        .told = SETTING_MASK(SETTING_LOG),
    },
    {
        .name = "schedule",
        .title = "schedule",
        .about = "How leaserun schedule keeps the table.",
        .groups = SETTING_MASK(SETTING_SCHEDULE),
        .told = SETTING_MASK(SETTING_SCHEDULE),
    },
    {
        .name = "defaults",
        .title = "defaults",
        .about = "What holds for every run unless its options say otherwise, and for every job of "
                 "the table unless its section does. What run has no option for, such as user, "
                 "holds for jobs alone.",
        .groups = SETTING_MASK(SETTING_RUN) | SETTING_MASK(SETTING_JOB),
        .told = SETTING_MASK(SETTING_RUN) | SETTING_MASK(SETTING_JOB),
    },
    {
        .name = "job",
        .title = "job NAME",
        .about = "A job of the table, with a name of at most 49 bytes. It needs a schedule, and "
                 "either command or exec. All keys of [defaults] but wait and held-exit may stand "
                 "here too.",
        .groups = SETTING_MASK(SETTING_JOB) | SETTING_MASK(SETTING_TABLE),
        .told = SETTING_MASK(SETTING_TABLE),
        .example = "job nightly-report",
    },
    {.name = NULL},
};

const struct setting_section *settings_find_section(const char *header)
{
    size_t length = strcspn(header, " ");
    for (const struct setting_section *section = settings_sections; section->name; section++) {
        bool is_named = strcmp(section->name, section->title) != 0;
        if (strlen(section->name) == length && strncmp(section->name, header, length) == 0 &&
            is_named == (header[length] != '\0'))
            return section;
    }
    return NULL;
}

static bool is_key_of(const struct setting *setting, const struct setting_section *section)
{
    return setting->key != NULL && (section->groups & SETTING_MASK(setting->group)) != 0;
}

const struct setting *settings_find_key(const struct setting_section *section, const char *key)
{
    const struct setting *setting = NULL;
    while ((setting = settings_next(setting)) != NULL)
        if (is_key_of(setting, section) && strcmp(setting->key, key) == 0)
            return setting;
    return NULL;
}

const char *settings_suggest_key(const struct setting_section *section, const char *key)
{
    const struct setting *setting = NULL;
    const char *nearest = NULL;
    while ((setting = settings_next(setting)) != NULL)
        if (is_key_of(setting, section))
            nearest = suggest_nearer(key, nearest, setting->key);
    return nearest;
}

static void format_number(const struct setting *setting, int64_t number,
                          char ret_text[VALUE_TEXT_MAX])
{
    if (setting->type == SETTING_DURATION)
        value_format_duration(number, ret_text);
    else
        value_format_size(number, ret_text);
}

static bool check_bounds(const struct setting *setting, int64_t number, struct error *err)
{
    char bound[VALUE_TEXT_MAX];
    if (number < setting->least) {
        format_number(setting, setting->least, bound);
        return error_set(err, ERROR_USAGE, "the least possible is %s", bound);
    }
    if (setting->most > 0 && number > setting->most) {
        format_number(setting, setting->most, bound);
        return error_set(err, ERROR_USAGE, "the most possible is %s", bound);
    }
    return true;
}

static bool put_number(const struct setting *setting, const char *value, int64_t *member,
                       struct error *err)
{
    int64_t number = 0;
    bool is_good = true;
    if (setting->word != NULL && strcmp(setting->word, value) == 0)
        return *member = setting->word_value, true;
    if (setting->type == SETTING_DURATION)
        is_good = value_parse_duration(value, &number, err);
    else if (setting->type == SETTING_SIZE)
        is_good = value_parse_size(value, &number, err);
    else
        is_good = value_parse_count(value, &number, err);
    if (!is_good || !check_bounds(setting, number, err))
        return false;
    *member = number;
    return true;
}

bool settings_check_text(const struct setting *setting, const char *value, struct error *err)
{
    if (*value == '\0')
        return error_set(err, ERROR_USAGE, "the value is empty");
    return setting->check == NULL || setting->check(value, err);
}

static bool put_text(const struct setting *setting, const char *value, char **member,
                     struct error *err)
{
    if (!settings_check_text(setting, value, err))
        return false;
    mem_wipe(*member);
    *member = mem_strdup(value);
    return true;
}

bool settings_put(const struct setting *setting, const char *value, void *object, struct error *err)
{
    void *member = (char *)object + setting->offset;
    switch (setting->type) {
    case SETTING_TEXT:
        return put_text(setting, value, member, err);
    case SETTING_DURATION:
    case SETTING_COUNT:
    case SETTING_SIZE:
        return put_number(setting, value, member, err);
    case SETTING_SWITCH:
        return value_parse_switch(value, member, err);
    case SETTING_CHOICE:
        return value_parse_choice(value, setting->choices, member, err);
    }
    return false;
}

static void clear(const struct setting *setting, void *object)
{
    void *member = (char *)object + setting->offset;
    switch (setting->type) {
    case SETTING_TEXT:
        mem_wipe(*(char **)member);
        *(char **)member = NULL;
        break;
    case SETTING_DURATION:
    case SETTING_COUNT:
    case SETTING_SIZE:
        *(int64_t *)member = 0;
        break;
    case SETTING_SWITCH:
        *(bool *)member = false;
        break;
    case SETTING_CHOICE:
        *(int *)member = 0;
        break;
    }
}

void settings_put_back(const struct setting *setting, void *object)
{
    clear(setting, object);
    settings_put_initial(setting, object);
}

void settings_put_initial(const struct setting *setting, void *object)
{
    struct error error;
    if (setting->initial != NULL && !settings_put(setting, setting->initial, object, &error))
        abort();
}

void settings_describe(const struct setting *setting, struct text *out)
{
    char bound[VALUE_TEXT_MAX];
    const char *gap = "";
    for (const struct value_choice *choice = setting->choices; choice != NULL && choice->name;
         choice++)
        text_addf(out, "%s%s", choice == setting->choices ? "" : "|", choice->name);
    gap = out->length > 0 ? ", " : "";
    if (setting->least > 1) {
        format_number(setting, setting->least, bound);
        text_addf(out, "%sat least %s", gap, bound);
        gap = ", ";
    }
    if (setting->most > 0) {
        format_number(setting, setting->most, bound);
        text_addf(out, "%sat most %s", gap, bound);
        gap = ", ";
    }
    if (setting->word != NULL) {
        text_addf(out, "%sor %s", gap, setting->word);
        gap = ", ";
    }
    if (setting->initial != NULL)
        text_addf(out, "%sdefault %s", gap, setting->initial);
}
