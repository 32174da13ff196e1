/* SPDX-License-Identifier: ISC */
#include "conf/job_table.h"

#include "base/mem.h"
#include "conf/config_reader.h"
#include "conf/job_sources.h"
#include "conf/settings.h"
#include "cron/cron.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct job_table *table;
    size_t room; /* for jobs */
    struct job defaults;
    const char **accepted; /* of each setting: the text that was checked last */
    struct ini_faults *faults;
    const char *path; /* of the file whose jobs are taken, in the table's strings */
};

static char **text_member(const struct setting *setting, struct job *job)
{
    return (char **)((char *)job + setting->offset);
}

/* ---- one job ------------------------------------------------------------------------------- */

/* Many jobs have the same zone or shell: what was right for the last one needs no second look. */
static bool put_text(struct reading *reading, const struct setting *setting,
                     const struct ini_entry *entry, struct job *job)
{
    struct error error;
    char *text = string_pool_keep(&reading->table->strings, entry->value);
    const char **accepted = &reading->accepted[settings_number(setting)];
    if (text != *accepted && !settings_check_text(setting, text, &error))
        return ini_faults_add(reading->faults, entry->line, "%s: %s", entry->key, error.text);
    *accepted = text;
    *text_member(setting, job) = text;
    return true;
}

static bool put_entry(struct reading *reading, const struct setting_section *section,
                      const char *header, const struct ini_entry *entry, struct job *job)
{
    const struct setting *setting = settings_find_key(section, entry->key);
    if (setting == NULL)
        return config_reader_refuse_key(section, header, entry, reading->faults);
    if (setting->type == SETTING_TEXT)
        return put_text(reading, setting, entry, job);
    return config_reader_put(setting, entry, job, reading->faults);
}

static const struct ini_entry *find(const struct ini_entry *entries, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(entries[i].key, key) == 0)
            return &entries[i];
    return NULL;
}

/* What no single key shows. */
static void check_whole(struct reading *reading, const struct ini_section *section,
                        const struct ini_entry *entries)
{
    struct ini_faults *faults = reading->faults;
    const struct ini_entry *command = find(entries, section->count, "command");
    const struct ini_entry *exec = find(entries, section->count, "exec");
    if (section->is_incomplete)
        return; /* what is missing may have stood in a line that was left out */
    if (find(entries, section->count, "schedule") == NULL)
        ini_faults_add(faults, section->line, "[%s] has no schedule", section->name);
    if (command == NULL && exec == NULL)
        ini_faults_add(faults, section->line, "[%s] has neither command nor exec", section->name);
    if (command != NULL && exec != NULL) {
        const struct ini_entry *first = command->line < exec->line ? command : exec;
        const struct ini_entry *second = first == command ? exec : command;
        ini_faults_add(faults, second->line, "%s stands beside %s in line %d: keep one of them",
                       second->key, first->key, first->line);
    }
}

static bool is_job(const void *owner, size_t number, const char *name, size_t length)
{
    const struct job_table *table = owner;
    const char *known = table->jobs[number].name;
    return strncmp(known, name, length) == 0 && known[length] == '\0';
}

static size_t find_number(const struct job_table *table, const char *name)
{
    return name_index_find(&table->names, name, strlen(name), is_job, table);
}

static bool check_name(struct reading *reading, const char *name, int line)
{
    const struct job_table *table = reading->table;
    if (strchr(name, ' ') != NULL)
        return ini_faults_add(reading->faults, line, "a job's name has no blank: \"%s\"", name);
    size_t number = find_number(table, name);
    if (number == NAME_INDEX_NONE)
        return true;
    const struct job *other = &table->jobs[number];
    return ini_faults_add(reading->faults, line,
                          "the job %s stands here and in %s:%d: rename one of them", name,
                          other->file, other->line);
}

static void add_job(struct reading *reading, const struct job *job)
{
    struct job_table *table = reading->table;
    if (table->count == reading->room) {
        reading->room = reading->room == 0 ? 16 : reading->room * 2;
        table->jobs = mem_grow(table->jobs, reading->room, sizeof *table->jobs);
    }
    name_index_add(&table->names, job->name, strlen(job->name), table->count);
    table->jobs[table->count++] = *job;
}

static void take_job(struct reading *reading, const struct ini_text *text,
                     const struct ini_section *header, const struct setting_section *section)
{
    const struct ini_entry *entries = header->count > 0 ? &text->entries[header->first] : NULL;
    const char *name = strchr(header->name, ' ') + 1;
    struct job job = reading->defaults;
    size_t before = reading->faults->count;
    for (size_t i = 0; i < header->count; i++)
        put_entry(reading, section, header->name, &entries[i], &job);
    check_whole(reading, header, entries);
    if (!check_name(reading, name, header->line))
        return;
    job.name = string_pool_keep(&reading->table->strings, name);
    if (job.key == NULL)
        job.key = job.name;
    job.file = reading->path;
    job.line = header->line;
    if (reading->faults->count > before || header->is_incomplete)
        job.schedule = NULL;
    add_job(reading, &job);
}

/* ---- all of them --------------------------------------------------------------------------- */

static bool is_of_job(const struct setting *setting)
{
    unsigned bit = SETTING_MASK(setting->group);
    return (bit & (SETTING_OF_RUN | SETTING_MASK(SETTING_TABLE))) != 0;
}

static void keep_defaults(struct reading *reading, const struct config *config)
{
    const struct setting *setting = NULL;
    reading->defaults = config->job;
    while ((setting = settings_next(setting)) != NULL) {
        if (!is_of_job(setting) || setting->type != SETTING_TEXT)
            continue;
        char **text = text_member(setting, &reading->defaults);
        if (*text != NULL)
            *text = string_pool_keep(&reading->table->strings, *text);
    }
}

static void take_jobs(struct reading *reading, const struct job_source *source)
{
    const struct ini_text *text = &source->text;
    ini_faults_turn_to(reading->faults, source->file);
    reading->path = string_pool_keep(&reading->table->strings, source->path);
    for (size_t i = 0; i < text->section_count; i++) {
        const struct setting_section *section = settings_find_section(text->sections[i].name);
        if (section != NULL && (section->groups & SETTING_MASK(SETTING_TABLE)) != 0)
            take_job(reading, text, &text->sections[i], section);
    }
}

static void take_settings(struct config *config, const struct job_sources *sources,
                          struct ini_faults *faults)
{
    struct config_reader reader;
    unsigned in_paths = 0;
    if (sources->sources[0].is_settings_only)
        for (size_t i = 1; i < sources->count; i++)
            in_paths |= config_reader_sections(&sources->sources[i].text);
    config_reader_init(&reader, config, faults);
    for (size_t i = 0; i < sources->count; i++) {
        const struct job_source *source = &sources->sources[i];
        ini_faults_turn_to(faults, source->file);
        config_reader_take(&reader, &source->text, source->is_settings_only ? in_paths : 0);
    }
    config_reader_finish(&reader);
}

static void keep_paths(struct job_table *table, const struct job_sources *sources)
{
    table->files = mem_array(sources->count + sources->folder_count, sizeof(char *));
    for (size_t i = 0; i < sources->count; i++)
        table->files[table->file_count++] =
            string_pool_keep(&table->strings, sources->sources[i].path);
    for (size_t i = 0; i < sources->folder_count; i++)
        table->files[table->file_count++] = string_pool_keep(&table->strings, sources->folders[i]);
}

static void take_all_jobs(struct reading *reading, const struct job_sources *sources)
{
    struct job_table *table = reading->table;
    reading->accepted = mem_array(settings_number(NULL), sizeof *reading->accepted);
    for (size_t i = 0; i < sources->count; i++)
        if (!sources->sources[i].is_settings_only)
            take_jobs(reading, &sources->sources[i]);
    free(reading->accepted);
    if (table->count > 0)
        table->jobs = mem_grow(table->jobs, table->count, sizeof *table->jobs);
}

bool job_table_examine(struct config *config, char *const *paths, size_t path_count,
                       struct job_table *ret_table, struct ini_faults *faults)
{
    struct job_sources sources;
    size_t before = faults->count;
    *ret_table = (struct job_table){0};
    struct reading reading = {.table = ret_table, .faults = faults};
    job_sources_read(&sources, config->path == NULL ? CONFIG_PATH : config->path,
                     config->path != NULL, paths, path_count, faults);
    take_settings(config, &sources, faults);
    keep_defaults(&reading, config);
    take_all_jobs(&reading, &sources);
    keep_paths(ret_table, &sources);
    string_pool_close(&ret_table->strings);
    job_sources_done(&sources);
    ini_faults_sort(faults);
    return faults->count == before;
}

bool job_table_read(struct config *config, char *const *paths, size_t path_count,
                    struct job_table *ret_table, struct ini_faults *faults)
{
    bool is_good = job_table_examine(config, paths, path_count, ret_table, faults);
    if (!is_good)
        job_table_done(ret_table);
    return is_good;
}

const struct job *job_table_find(const struct job_table *table, const char *name)
{
    size_t number = find_number(table, name);
    return number == NAME_INDEX_NONE ? NULL : &table->jobs[number];
}

void job_table_done(struct job_table *table)
{
    free(table->jobs);
    free(table->files);
    name_index_done(&table->names);
    string_pool_done(&table->strings);
    *table = (struct job_table){0};
}

/* ---- and the store ------------------------------------------------------------------------- */

static bool has_calendar(const struct job *job)
{
    struct cron cron;
    struct error error;
    return cron_parse(job->schedule, job->key, &cron, &error) && cron.kind == CRON_CALENDAR;
}

bool job_table_check_store(const struct job_table *table, bool is_shared, struct ini_faults *faults)
{
    struct error error;
    size_t before = faults->count;
    if (!is_shared)
        return true;
    const struct zone *host = zone_host(&error);
    if (host != NULL && zone_is_utc(host))
        return true;
    for (size_t i = 0; i < table->count; i++) {
        const struct job *job = &table->jobs[i];
        if (job->schedule == NULL || !job->is_enabled || job->timezone != NULL ||
            !has_calendar(job))
            continue;
        ini_faults_turn_to_path(faults, job->file);
        ini_faults_add(faults, job->line,
                       "[job %s] has no timezone: on a store that hosts share each of them would "
                       "follow its own, so give one here or in [defaults]",
                       job->name);
    }
    ini_faults_sort(faults);
    return faults->count == before;
}
