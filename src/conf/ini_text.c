/* SPDX-License-Identifier: ISC */
#include "conf/ini_text.h"

#include "base/mem.h"
#include "base/text.h"
#include "conf/ini_file.h"

#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* inih cuts lines, takes ";" for a comment and reads some lines twice, depending on how it was
 * built. So it is handed checked lines only, and of an entry nothing but "key=@LINE": what it
 * hands back is exact with any inih, and the value is taken from the line itself. */
struct reading {
    struct ini_text *text;
    struct ini_faults *faults;
    const char *at, *end;
    int line;
    bool is_skipping; /* under a faulty header, or before the first */
    bool has_header;
    bool is_over;      /* not a text: nothing more is read */
    const char *value; /* of the line that inih has just been given */
    size_t value_length;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

static size_t trimmed(const char *from, size_t length)
{
    while (length > 0 && is_blank(from[length - 1]))
        length--;
    return length;
}

/* Next physical line, without its end. */
static bool next_line(struct reading *reading, const char **ret_line, size_t *ret_length)
{
    if (reading->at == reading->end || reading->is_over)
        return false;
    size_t left = (size_t)(reading->end - reading->at);
    const char *newline = memchr(reading->at, '\n', left);
    size_t length = newline == NULL ? left : (size_t)(newline - reading->at);
    *ret_line = reading->at;
    reading->at += newline == NULL ? length : length + 1;
    reading->line++;
    if (length > 0 && (*ret_line)[length - 1] == '\r')
        length--;
    *ret_length = length;
    return true;
}

static bool check_bytes(struct reading *reading, const char *line, size_t length)
{
    if (memchr(line, '\0', length) != NULL) {
        reading->is_over = true;
        return ini_faults_add(reading->faults, reading->line,
                              "there is a NUL byte: this is no text file, or it is UTF-16");
    }
    if (memchr(line, '\r', length) != NULL)
        return ini_faults_add(reading->faults, reading->line,
                              "there is a carriage return within the line: lines end in LF or "
                              "CRLF");
    return true;
}

/* A name is words of [A-Za-z0-9._-] with one blank between them. */
static bool check_name(struct reading *reading, const char *what, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool is_gap = name[i] == ' ' && i > 0 && i + 1 < length && name[i - 1] != ' ';
        if (!is_name_char(name[i]) && !is_gap)
            return ini_faults_add(reading->faults, reading->line,
                                  "the %s \"%.*s\" may hold only letters, digits, \".\", \"_\" and "
                                  "\"-\"",
                                  what, (int)(length < 80 ? length : 80), name);
    }
    if (length > INI_NAME_MAX)
        return ini_faults_add(reading->faults, reading->line,
                              "the %s \"%.*s\" has %zu bytes, the longest possible has %d", what,
                              (int)(length < 80 ? length : 80), name, length, INI_NAME_MAX);
    return true;
}

static bool check_new_section(struct reading *reading, const char *name, size_t length)
{
    const struct ini_text *text = reading->text;
    for (size_t i = 0; i < text->section_count; i++) {
        const struct ini_section *other = &text->sections[i];
        if (strlen(other->name) == length && memcmp(other->name, name, length) == 0)
            return ini_faults_add(reading->faults, reading->line,
                                  "the section [%s] stands here and in line %d: join the two",
                                  other->name, other->line);
    }
    return true;
}

static bool check_header(struct reading *reading, const char *line, size_t length,
                         size_t *ret_name_length)
{
    const char *close = memchr(line, ']', length);
    length = trimmed(line, length);
    if (close == NULL)
        return ini_faults_add(reading->faults, reading->line,
                              "the section's \"]\" is missing: write [name]");
    if (close != line + length - 1)
        return ini_faults_add(reading->faults, reading->line,
                              "there is something behind \"]\": a section's line is [name] alone");
    if (close == line + 1)
        return ini_faults_add(reading->faults, reading->line, "the section has no name");
    *ret_name_length = length - 2;
    return check_name(reading, "section's name", line + 1, length - 2) &&
           check_new_section(reading, line + 1, length - 2);
}

static bool take_header(struct reading *reading, const char *line, size_t length, char *out,
                        size_t room)
{
    size_t name_length = 0;
    reading->has_header = true;
    reading->is_skipping = !check_header(reading, line, length, &name_length);
    if (reading->is_skipping)
        return false;
    struct ini_text *text = reading->text;
    text->sections = mem_grow(text->sections, text->section_count + 1, sizeof *text->sections);
    text->sections[text->section_count++] =
        (struct ini_section){mem_strndup(line + 1, name_length), reading->line};
    return snprintf(out, room, "[%.*s]\n", (int)name_length, line + 1) < (int)room;
}

static bool check_new_key(struct reading *reading, const char *key, size_t length)
{
    const struct ini_text *text = reading->text;
    for (size_t i = 0; i < text->entry_count; i++) {
        const struct ini_entry *other = &text->entries[i];
        if (other->section + 1 == text->section_count && strlen(other->key) == length &&
            memcmp(other->key, key, length) == 0)
            return ini_faults_add(reading->faults, reading->line,
                                  "%s stands here and in line %d: keep one of them", other->key,
                                  other->line);
    }
    return true;
}

static bool check_key(struct reading *reading, const char *line, size_t length, const char *equals)
{
    size_t before = equals == NULL ? length : (size_t)(equals - line);
    size_t key_length = trimmed(line, before);
    const char *colon = memchr(line, ':', before);
    if (equals == NULL)
        return ini_faults_add(reading->faults, reading->line,
                              "\"%.*s\" is neither [section] nor key = value",
                              (int)(length < 80 ? length : 80), line);
    if (key_length == 0)
        return ini_faults_add(reading->faults, reading->line, "there is no key before \"=\"");
    if (colon != NULL)
        return ini_faults_add(reading->faults, reading->line,
                              "there is a \":\" before the \"=\": key and value are separated by "
                              "\"=\" alone");
    return check_name(reading, "key", line, key_length) && check_new_key(reading, line, key_length);
}

static bool check_value(struct reading *reading)
{
    if (reading->value_length == 0)
        return ini_faults_add(reading->faults, reading->line, "there is no value behind \"=\"");
    if (reading->value_length > INI_VALUE_MAX)
        return ini_faults_add(reading->faults, reading->line,
                              "the value has %zu bytes, the longest possible has %d",
                              reading->value_length, INI_VALUE_MAX);
    return true;
}

static bool take_entry(struct reading *reading, const char *line, size_t length, char *out,
                       size_t room)
{
    const char *equals = memchr(line, '=', length);
    if (!reading->has_header) {
        reading->has_header = true;
        reading->is_skipping = true;
        return ini_faults_add(reading->faults, reading->line,
                              "\"%.*s\" stands before the first [section]",
                              (int)(length < 80 ? length : 80), line);
    }
    if (reading->is_skipping)
        return false;
    if (!check_key(reading, line, length, equals))
        return false;
    const char *value = equals + 1;
    while (value < line + length && is_blank(*value))
        value++;
    reading->value = value;
    reading->value_length = trimmed(value, (size_t)(line + length - value));
    if (!check_value(reading))
        return false;
    size_t key_length = trimmed(line, (size_t)(equals - line));
    return snprintf(out, room, "%.*s=@%d\n", (int)key_length, line, reading->line) < (int)room;
}

/* True when inih shall see the line, in the form that is in out. */
static bool take_line(struct reading *reading, const char *line, size_t length, char *out,
                      size_t room)
{
    bool is_indented = length > 0 && is_blank(line[0]);
    size_t blanks = 0;
    if (!check_bytes(reading, line, length))
        return false;
    while (blanks < length && is_blank(line[blanks]))
        blanks++;
    if (blanks == length || line[blanks] == ';' || line[blanks] == '#')
        return false;
    if (is_indented)
        return ini_faults_add(reading->faults, reading->line,
                              "the line begins with a blank: values do not continue on the next "
                              "line, and keys and sections are not indented");
    return line[0] == '[' ? take_header(reading, line, length, out, room)
                          : take_entry(reading, line, length, out, room);
}

static char *read_line(char *out, int room, void *user)
{
    struct reading *reading = user;
    const char *line;
    size_t length;
    while (next_line(reading, &line, &length))
        if (take_line(reading, line, length, out, (size_t)room))
            return out;
    return NULL;
}

/* A call without key is a new section, in an inih that was built to tell them. */
static int keep_entry(void *user, const char *section, const char *key, const char *value)
{
    struct reading *reading = user;
    struct ini_text *text = reading->text;
    if (key == NULL || value == NULL || value[0] != '@')
        return 1;
    text->entries = mem_grow(text->entries, text->entry_count + 1, sizeof *text->entries);
    text->entries[text->entry_count++] = (struct ini_entry){
        .section = text->section_count - 1,
        .key = mem_strdup(key),
        .value = mem_strndup(reading->value, reading->value_length),
        .line = atoi(value + 1),
    };
    return 1;
}

static bool refuse_utf16(const char *bytes, size_t count, struct ini_faults *faults)
{
    if (count < 2 || (memcmp(bytes, "\xff\xfe", 2) != 0 && memcmp(bytes, "\xfe\xff", 2) != 0))
        return true;
    return ini_faults_add(faults, 0, "the file is UTF-16: save it as UTF-8");
}

bool ini_text_parse(const char *bytes, size_t count, struct ini_text *ret_text,
                    struct ini_faults *faults)
{
    size_t before = faults->count;
    *ret_text = (struct ini_text){0};
    if (!refuse_utf16(bytes, count, faults))
        return false;
    size_t skipped = count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    struct reading reading = {
        .text = ret_text,
        .faults = faults,
        .at = bytes + skipped,
        .end = bytes + count,
    };
    int rc = ini_parse_stream(read_line, &reading, keep_entry, &reading);
    if (rc != 0 && faults->count == before)
        ini_faults_add(faults, 0, "the parser gave up (%d)", rc);
    if (!reading.has_header && faults->count == before)
        ini_faults_add(faults, 0, "there is no [section] in the file");
    return faults->count == before;
}

bool ini_text_read(const char *path, bool must_exist, struct ini_text *ret_text,
                   struct ini_faults *faults)
{
    struct error error;
    TEXT_AUTODONE struct text bytes = TEXT_INIT;
    struct ini_file file;
    *ret_text = (struct ini_text){0};
    free(faults->path);
    faults->path = mem_strdup(path);
    if (!ini_file_read(path, &bytes, &file, &error)) {
        ret_text->is_missing = file.is_missing;
        return file.is_missing && !must_exist ? true : ini_faults_add(faults, 0, "%s", error.text);
    }
    bool is_good = ini_text_parse(text_string(&bytes), bytes.length, ret_text, faults);
    ret_text->mode = file.mode;
    if (bytes.bytes != NULL)
        explicit_bzero(bytes.bytes, bytes.length);
    return is_good;
}

void ini_text_done(struct ini_text *text)
{
    for (size_t i = 0; i < text->section_count; i++)
        free(text->sections[i].name);
    for (size_t i = 0; i < text->entry_count; i++) {
        free(text->entries[i].key);
        mem_wipe(text->entries[i].value);
    }
    free(text->sections);
    free(text->entries);
    *text = (struct ini_text){0};
}
