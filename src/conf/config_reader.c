/* SPDX-License-Identifier: ISC */
#include "conf/config_reader.h"

#include "base/mem.h"
#include "conf/store_url.h"
#include "conf/suggest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A section that the format has and this version does not. */
#define LATER_SECTION "http"

void config_reader_init(struct config_reader *reader, struct config *config,
                        struct ini_faults *faults)
{
    *reader = (struct config_reader){.config = config, .faults = faults};
    reader->places = mem_array(settings_number(NULL), sizeof *reader->places);
}

/* "job" and "defaults nightly": the section is there, the header is not its. */
static const struct setting_section *nearest_section(const char *header)
{
    const struct setting_section *nearest = NULL;
    MEM_AUTOFREE char *word = mem_strndup(header, strcspn(header, " "));
    const char *name = NULL;
    for (const struct setting_section *section = settings_sections; section->name; section++) {
        name = suggest_nearer(word, name, section->name);
        if (name == section->name)
            nearest = section;
    }
    return nearest;
}

static bool refuse_section(const struct ini_section *section, struct ini_faults *faults)
{
    const struct setting_section *nearest = nearest_section(section->name);
    if (strcmp(section->name, LATER_SECTION) == 0)
        return ini_faults_add(faults, section->line, "this version has no section [%s]",
                              section->name);
    return ini_faults_add(faults, section->line, "there is no section [%s]%s%s%s", section->name,
                          nearest == NULL ? "" : "; did you mean [",
                          nearest == NULL ? "" : nearest->title, nearest == NULL ? "" : "]?");
}

bool config_reader_refuse_key(const struct setting_section *section, const char *header,
                              const struct ini_entry *entry, struct ini_faults *faults)
{
    struct error error;
    const struct setting_section *other = settings_sections;
    while (other->name != NULL && settings_find_key(other, entry->key) == NULL)
        other++;
    error_set(&error, ERROR_CONFIG, "[%s] has no key \"%s\"", header, entry->key);
    if (other->name != NULL)
        return ini_faults_add(faults, entry->line, "%s: it belongs to [%s]", error.text,
                              other->title);
    suggest_add(&error, settings_suggest_key(section, entry->key), "");
    return ini_faults_add(faults, entry->line, "%s", error.text);
}

/* "3m ; note", "3m # note": values go to the end of the line. */
static bool has_comment(const char *value)
{
    return strstr(value, " ;") != NULL || strstr(value, " #") != NULL;
}

bool config_reader_put(const struct setting *setting, const struct ini_entry *entry, void *object,
                       struct ini_faults *faults)
{
    struct error error;
    if (settings_put(setting, entry->value, object, &error))
        return true;
    return ini_faults_add(faults, entry->line, "%s: %s%s", entry->key, error.text,
                          has_comment(entry->value) ? "; a comment needs a line of its own" : "");
}

static bool is_store_key(const struct setting *setting, const char *key)
{
    return setting->group == SETTING_STORE && setting->key != NULL &&
           strcmp(setting->key, key) == 0;
}

static void check_secret(const struct setting *setting, const struct ini_entry *entry, mode_t mode,
                         struct ini_faults *faults)
{
    if (is_store_key(setting, "url") && (mode & S_IROTH) != 0 &&
        store_url_has_password(entry->value))
        ini_faults_add(faults, entry->line,
                       "url holds a password and every user may read this file: chmod o-r it, or "
                       "use url-file");
}

static void note_store_file(struct config_reader *reader, const struct setting *setting)
{
    if (!is_store_key(setting, "url") && !is_store_key(setting, "url-file"))
        return;
    free(reader->config->store_file);
    reader->config->store_file = mem_strdup(reader->faults->files[reader->faults->file]);
}

static bool take_entry(struct config_reader *reader, const struct ini_text *text,
                       const struct setting_section *section, const struct ini_entry *entry)
{
    struct ini_faults *faults = reader->faults;
    const struct setting *setting = settings_find_key(section, entry->key);
    if (setting == NULL)
        return config_reader_refuse_key(section, section->title, entry, faults);
    struct config_place *place = &reader->places[settings_number(setting)];
    if (place->line > 0) {
        MEM_AUTOFREE char *other = ini_faults_place(faults, place->file, place->line);
        return ini_faults_add(faults, entry->line, "%s stands here and in %s: keep one of them",
                              entry->key, other);
    }
    *place = (struct config_place){faults->file, entry->line};
    check_secret(setting, entry, text->mode, faults);
    note_store_file(reader, setting);
    return config_reader_put(setting, entry, config_object(reader->config, setting), faults);
}

static unsigned bit_of(const struct setting_section *section)
{
    return 1u << (section - settings_sections);
}

static bool is_of_jobs(const struct setting_section *section)
{
    return (section->groups & SETTING_MASK(SETTING_TABLE)) != 0;
}

void config_reader_take(struct config_reader *reader, const struct ini_text *text,
                        unsigned left_out)
{
    for (size_t i = 0; i < text->section_count; i++) {
        const struct ini_section *header = &text->sections[i];
        const struct setting_section *section = settings_find_section(header->name);
        if (section == NULL)
            refuse_section(header, reader->faults);
        else if (!is_of_jobs(section) && (bit_of(section) & left_out) == 0)
            for (size_t k = 0; k < header->count; k++)
                take_entry(reader, text, section, &text->entries[header->first + k]);
    }
}

unsigned config_reader_sections(const struct ini_text *text)
{
    unsigned bits = 0;
    for (size_t i = 0; i < text->section_count; i++) {
        const struct setting_section *section = settings_find_section(text->sections[i].name);
        bits |= section == NULL ? 0 : bit_of(section);
    }
    return bits;
}

static struct config_place place_of(const struct config_reader *reader, const char *store_key)
{
    const struct setting *setting = NULL;
    while ((setting = settings_next(setting)) != NULL)
        if (is_store_key(setting, store_key))
            return reader->places[settings_number(setting)];
    return (struct config_place){0, 0};
}

void config_reader_finish(struct config_reader *reader)
{
    struct config_place url = place_of(reader, "url");
    struct config_place url_file = place_of(reader, "url-file");
    if (url.line > 0 && url_file.line > 0) {
        ini_faults_turn_to(reader->faults, url_file.file);
        MEM_AUTOFREE char *other = ini_faults_place(reader->faults, url.file, url.line);
        ini_faults_add(reader->faults, url_file.line,
                       "url-file stands beside url in %s: keep one of them", other);
    }
    free(reader->places);
    reader->places = NULL;
}
