/* SPDX-License-Identifier: ISC */
#include "conf/ini_text.h"

#include "base/mem.h"
#include "base/text.h"
#include "conf/ini_file.h"
#include "conf/name_index.h"

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
    char *at, *end; /* in text's bytes */
    int line;
    bool is_skipping; /* under a faulty header, or before the first */
    bool has_header;
    bool is_over; /* not a text: nothing more is read */
    struct name_index sections;
    char *key, *key_end; /* of the line that inih has just been given */
    char *value, *value_end;
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

static bool is_section(const void *owner, size_t number, const char *name, size_t length)
{
    const struct ini_text *text = owner;
    const char *known = text->sections[number].name;
    return strncmp(known, name, length) == 0 && known[length] == '\0';
}

static size_t trimmed(const char *from, size_t length)
{
    while (length > 0 && is_blank(from[length - 1]))
        length--;
    return length;
}

/* Next physical line, without its end. */
static bool next_line(struct reading *reading, char **ret_line, size_t *ret_length)
{
    if (reading->at == reading->end || reading->is_over)
        return false;
    size_t left = (size_t)(reading->end - reading->at);
    char *newline = memchr(reading->at, '\n', left);
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

static int shown(size_t length)
{
    return (int)(length < 80 ? length : 80);
}

static bool refuse_length(struct reading *reading, const char *what, const char *name,
                          size_t length)
{
    return ini_faults_add(reading->faults, reading->line,
                          "the %s \"%.*s\" is too long: a name has at most %d bytes", what,
                          shown(length), name, INI_WORD_MAX);
}

/* A name is words of [A-Za-z0-9._-] with one blank between them. */
static bool check_name(struct reading *reading, const char *what, const char *name, size_t length)
{
    size_t word_length = 0;
    for (size_t i = 0; i < length; i++) {
        bool is_gap = name[i] == ' ' && i > 0 && i + 1 < length && name[i - 1] != ' ';
        word_length = is_gap ? 0 : word_length + 1;
        if (!is_name_char(name[i]) && !is_gap)
            return ini_faults_add(reading->faults, reading->line,
                                  "the %s \"%.*s\" may hold only letters, digits, \".\", \"_\" and "
                                  "\"-\"",
                                  what, shown(length), name);
        if (word_length > INI_WORD_MAX)
            return refuse_length(reading, what, name, length);
    }
    return true;
}

static bool check_new_section(struct reading *reading, const char *name, size_t length)
{
    const struct ini_text *text = reading->text;
    size_t number = name_index_find(&reading->sections, name, length, is_section, text);
    if (number == NAME_INDEX_NONE)
        return true;
    return ini_faults_add(reading->faults, reading->line,
                          "the section [%s] stands here and in line %d: join the two",
                          text->sections[number].name, text->sections[number].line);
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

static struct ini_section *add_section(struct ini_text *text)
{
    if (text->section_count == text->section_room) {
        text->section_room = text->section_room == 0 ? 16 : text->section_room * 2;
        text->sections = mem_grow(text->sections, text->section_room, sizeof *text->sections);
    }
    return &text->sections[text->section_count++];
}

static bool take_header(struct reading *reading, char *line, size_t length, char *out, size_t room)
{
    size_t name_length = 0;
    reading->has_header = true;
    reading->is_skipping = !check_header(reading, line, length, &name_length);
    if (reading->is_skipping)
        return false;
    char *name = line + 1;
    name[name_length] = '\0';
    struct ini_text *text = reading->text;
    name_index_add(&reading->sections, name, name_length, text->section_count);
    *add_section(text) =
        (struct ini_section){.name = name, .line = reading->line, .first = text->entry_count};
    return snprintf(out, room, "[@%d]\n", reading->line) < (int)room;
}

static bool check_new_key(struct reading *reading, const char *key, size_t length)
{
    const struct ini_text *text = reading->text;
    const struct ini_section *section = &text->sections[text->section_count - 1];
    for (size_t i = section->first; i < text->entry_count; i++) {
        const struct ini_entry *other = &text->entries[i];
        if (strncmp(other->key, key, length) == 0 && other->key[length] == '\0')
            return ini_faults_add(reading->faults, reading->line,
                                  "%s stands here and in line %d: keep one of them", other->key,
                                  other->line);
    }
    reading->is_skipping = section->count == INI_KEYS_MAX;
    if (reading->is_skipping)
        return ini_faults_add(reading->faults, reading->line, "[%s] has more than %d keys",
                              section->name, INI_KEYS_MAX);
    return true;
}

static bool check_key(struct reading *reading, const char *line, size_t length, const char *equals)
{
    size_t before = equals == NULL ? length : (size_t)(equals - line);
    size_t key_length = trimmed(line, before);
    const char *colon = memchr(line, ':', before);
    if (equals == NULL)
        return ini_faults_add(reading->faults, reading->line,
                              "\"%.*s\" is neither [section] nor key = value", shown(length), line);
    if (key_length == 0)
        return ini_faults_add(reading->faults, reading->line, "there is no key before \"=\"");
    if (colon != NULL)
        return ini_faults_add(reading->faults, reading->line,
                              "there is a \":\" before the \"=\": key and value are separated by "
                              "\"=\" alone");
    if (key_length > INI_WORD_MAX)
        return refuse_length(reading, "key", line, key_length);
    return check_name(reading, "key", line, key_length) && check_new_key(reading, line, key_length);
}

static bool check_value(struct reading *reading)
{
    size_t length = (size_t)(reading->value_end - reading->value);
    if (length == 0)
        return ini_faults_add(reading->faults, reading->line, "there is no value behind \"=\"");
    if (length > INI_VALUE_MAX)
        return ini_faults_add(reading->faults, reading->line,
                              "the value has %zu bytes, the longest possible has %d", length,
                              INI_VALUE_MAX);
    return true;
}

static bool take_entry(struct reading *reading, char *line, size_t length, char *out, size_t room)
{
    char *equals = memchr(line, '=', length);
    if (!reading->has_header) {
        reading->has_header = true;
        reading->is_skipping = true;
        return ini_faults_add(reading->faults, reading->line,
                              "\"%.*s\" stands before the first [section]", shown(length), line);
    }
    if (reading->is_skipping || !check_key(reading, line, length, equals))
        return false;
    char *value = equals + 1;
    while (value < line + length && is_blank(*value))
        value++;
    reading->key = line;
    reading->key_end = line + trimmed(line, (size_t)(equals - line));
    reading->value = value;
    reading->value_end = value + trimmed(value, (size_t)(line + length - value));
    if (!check_value(reading))
        return false;
    return snprintf(out, room, "%.*s=@%d\n", (int)(reading->key_end - line), line, reading->line) <
           (int)room;
}

/* True when inih shall see the line, in the form that is in out. */
static bool take_line(struct reading *reading, char *line, size_t length, char *out, size_t room)
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

static void note_loss(struct ini_text *text)
{
    if (text->section_count > 0)
        text->sections[text->section_count - 1].is_incomplete = true;
}

static char *read_line(char *out, int room, void *user)
{
    struct reading *reading = user;
    char *line;
    size_t length;
    while (next_line(reading, &line, &length)) {
        size_t before = reading->faults->count;
        bool is_header = length > 0 && line[0] == '[';
        if (take_line(reading, line, length, out, (size_t)room))
            return out;
        if (reading->faults->count > before && !is_header)
            note_loss(reading->text);
    }
    return NULL;
}

/* A call without key is a new section, in an inih that was built to tell them. */
static int keep_entry(void *user, const char *section, const char *key, const char *value)
{
    struct reading *reading = user;
    struct ini_text *text = reading->text;
    (void)section;
    if (key == NULL || value == NULL || value[0] != '@')
        return 1;
    *reading->key_end = '\0';
    *reading->value_end = '\0';
    if (text->entry_count == text->entry_room) {
        text->entry_room = text->entry_room == 0 ? 16 : text->entry_room * 2;
        text->entries = mem_grow(text->entries, text->entry_room, sizeof *text->entries);
    }
    text->sections[text->section_count - 1].count++;
    text->entries[text->entry_count++] =
        (struct ini_entry){reading->key, reading->value, atoi(value + 1)};
    return 1;
}

static bool refuse_utf16(const char *bytes, size_t count, struct ini_faults *faults)
{
    if (count < 2 || (memcmp(bytes, "\xff\xfe", 2) != 0 && memcmp(bytes, "\xfe\xff", 2) != 0))
        return true;
    return ini_faults_add(faults, 0, "the file is UTF-16: save it as UTF-8");
}

/* Takes over the bytes, which have room for one more. */
static bool parse(char *bytes, size_t count, struct ini_text *ret_text, struct ini_faults *faults)
{
    size_t before = faults->count;
    ret_text->bytes = bytes;
    ret_text->byte_count = count;
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
    name_index_done(&reading.sections);
    if (rc != 0 && faults->count == before)
        ini_faults_add(faults, 0, "the parser gave up (%d)", rc);
    if (!reading.has_header && faults->count == before)
        ini_faults_add(faults, 0, "there is no [section] in the file");
    return faults->count == before;
}

bool ini_text_parse(const char *bytes, size_t count, struct ini_text *ret_text,
                    struct ini_faults *faults)
{
    char *copy = mem_array(count + 1, 1);
    *ret_text = (struct ini_text){0};
    if (count > 0)
        memcpy(copy, bytes, count);
    return parse(copy, count, ret_text, faults);
}

bool ini_text_read(const char *path, bool must_exist, struct ini_text *ret_text,
                   struct ini_faults *faults)
{
    struct error error;
    struct text bytes = TEXT_INIT;
    struct ini_file file;
    *ret_text = (struct ini_text){0};
    ini_faults_begin_file(faults, path);
    if (!ini_file_read(path, &bytes, &file, &error)) {
        text_done(&bytes);
        ret_text->is_missing = file.is_missing;
        return file.is_missing && !must_exist ? true : ini_faults_add(faults, 0, "%s", error.text);
    }
    size_t count = bytes.length;
    bool is_good = parse(text_detach(&bytes), count, ret_text, faults);
    ret_text->mode = file.mode;
    return is_good;
}

void ini_text_done(struct ini_text *text)
{
    if (text->bytes != NULL)
        explicit_bzero(text->bytes, text->byte_count);
    free(text->bytes);
    free(text->sections);
    free(text->entries);
    *text = (struct ini_text){0};
}

bool ini_text_is_word(const char *word)
{
    size_t length = 0;
    while (is_name_char(word[length]))
        length++;
    return length > 0 && length <= INI_WORD_MAX && word[length] == '\0';
}
