/* SPDX-License-Identifier: ISC */
#include "cli/import.h"

#include "base/mem.h"
#include "cli/import_name.h"
#include "conf/ini_text.h"
#include "conf/words.h"
#include "cron/cron.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SHELL "/bin/sh"

/* ---- comments ---- */

/* Bytes of a line, made harmless for a comment. */
static void add_harmless(struct text *out, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_add_char(out, iscntrl((unsigned char)bytes[i]) && bytes[i] != '\t' ? '?' : bytes[i]);
}

static void add_note(struct import *import, const char *what, const char *why)
{
    text_addf(&import->out, "# %s:%d: ", import->file, import->line);
    add_harmless(&import->out, what, strlen(what));
    text_addf(&import->out, ": %s\n", why);
}

/* A line that cannot be said: told, and kept as a comment. */
static void add_fault(struct import *import, const char *why, const char *bytes, size_t count)
{
    ini_faults_add(&import->faults, import->line, "%s", why);
    text_addf(&import->out, "# %s:%d: left out: ", import->file, import->line);
    add_harmless(&import->out, why, strlen(why));
    text_add(&import->out, "\n#   ");
    add_harmless(&import->out, bytes, count);
    text_add_char(&import->out, '\n');
}

/* ---- variables ---- */

static const char *value_of(const struct import *import, const char *name)
{
    for (size_t i = 0; i < import->variable_count; i++)
        if (strcmp(import->variables[i].name, name) == 0)
            return import->variables[i].value;
    return NULL;
}

static void put_variable(struct import *import, const char *name, const char *value)
{
    for (size_t i = 0; i < import->variable_count; i++)
        if (strcmp(import->variables[i].name, name) == 0) {
            free(import->variables[i].value);
            import->variables[i].value = mem_strdup(value);
            return;
        }
    import->variables =
        mem_grow(import->variables, import->variable_count + 1, sizeof *import->variables);
    import->variables[import->variable_count++] =
        (struct import_variable){mem_strdup(name), mem_strdup(value)};
}

/* Variables that mean something to cron itself. */
enum meaning {
    MEANS_NOTHING, /* it is the command's */
    MEANS_SHELL,
    MEANS_HOME,
    MEANS_ZONE,
    MEANS_DELAY,
    MEANS_MAIL,    /* there is nothing like it */
    MEANS_ACCOUNT, /* it cannot be set */
};

static const struct special {
    const char *name, *note; /* note: NULL, none */
    enum meaning meaning;
} specials[] = {
    {"SHELL", NULL, MEANS_SHELL},
    {"HOME", NULL, MEANS_HOME},
    {"CRON_TZ", NULL, MEANS_ZONE},
    {"TZ", "the command's alone, as in cron: the schedule does not follow it", MEANS_NOTHING},
    {"RANDOM_DELAY", NULL, MEANS_DELAY},
    {"MAILTO", "leaserun sends no mail", MEANS_MAIL},
    {"MAILFROM", "leaserun sends no mail", MEANS_MAIL},
    {"CONTENT_TYPE", "leaserun sends no mail", MEANS_MAIL},
    {"CONTENT_TRANSFER_ENCODING", "leaserun sends no mail", MEANS_MAIL},
    {"LOGNAME", "it is always the user's", MEANS_ACCOUNT},
};

static const struct special *special_of(const char *name)
{
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++)
        if (strcmp(specials[i].name, name) == 0)
            return &specials[i];
    return NULL;
}

static enum meaning meaning_of(const char *name)
{
    const struct special *special = special_of(name);
    return special == NULL ? MEANS_NOTHING : special->meaning;
}

static bool is_count(const char *value)
{
    size_t length = strlen(value);
    return length > 0 && length < 6 && strspn(value, "0123456789") == length;
}

static bool check_variable(struct import *import, const char *name, const char *value,
                           struct error *err)
{
    MEM_AUTOFREE char *word = mem_printf("%s=%s", name, value);
    enum meaning meaning = meaning_of(name);
    if (!words_is_assignment(word))
        return error_set(err, ERROR_CONFIG, "no shell can read a variable of that name");
    if (meaning == MEANS_DELAY && !is_count(value))
        return error_set(err, ERROR_CONFIG, "RANDOM_DELAY is no number of minutes");
    if (meaning != MEANS_ZONE)
        return true;
    import->is_zone_bad = value[0] != '\0' && zone_find(value, err) == NULL;
    return !import->is_zone_bad;
}

static void take_variable(struct import *import, const struct crontab_line *line, const char *bytes,
                          size_t count)
{
    struct error error;
    const struct special *special = special_of(line->name);
    if (!check_variable(import, line->name, line->value, &error)) {
        add_fault(import, error.text, bytes, count);
        return;
    }
    put_variable(import, line->name, line->value);
    if (special != NULL && special->note != NULL) {
        MEM_AUTOFREE char *what = mem_strndup(bytes, count);
        add_note(import, what, special->note);
    }
}

/* ---- jobs ---- */

static bool is_named(const void *owner, size_t number, const char *name, size_t length)
{
    const struct import *import = owner;
    return strncmp(import->names[number], name, length) == 0 &&
           import->names[number][length] == '\0';
}

/* A name that no job has yet; lives as long as the import. */
static const char *new_name(struct import *import, const char *command)
{
    char base[IMPORT_NAME_MAX];
    char *name = mem_strdup(import_name_of(command, base));
    for (int number = 2; name_index_find(&import->name_index, name, strlen(name), is_named,
                                         import) != NAME_INDEX_NONE;
         number++) {
        free(name);
        name = mem_printf("%s-%d", base, number);
    }
    import->names = mem_grow(import->names, import->job_count + 1, sizeof(char *));
    import->names[import->job_count] = name;
    name_index_add(&import->name_index, name, strlen(name), import->job_count++);
    return name;
}

/* One word for a shell, and for `env` and `shell` of leaserun.ini. */
static void add_quoted(struct text *out, const char *word, size_t length)
{
    text_add_char(out, '\'');
    for (size_t i = 0; i < length; i++)
        if (word[i] == '\'')
            text_add(out, "'\\''");
        else
            text_add_char(out, word[i]);
    text_add_char(out, '\'');
}

static void add_word(struct text *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./:,@%";
    size_t length = strlen(word);
    if (length > 0 && strspn(word, plain) == length)
        text_add(out, word);
    else
        add_quoted(out, word, length);
}

static void add_environment(struct import *import, struct text *out)
{
    bool is_first = true;
    for (size_t i = 0; i < import->variable_count; i++) {
        const struct import_variable *variable = &import->variables[i];
        enum meaning meaning = meaning_of(variable->name);
        if (meaning != MEANS_NOTHING && meaning != MEANS_HOME)
            continue;
        text_addf(out, is_first ? "env = %s=" : " %s=", variable->name);
        if (variable->value[0] != '\0')
            add_word(out, variable->value);
        is_first = false;
    }
    if (!is_first)
        text_add_char(out, '\n');
}

/* The input as lines of printf(1), and the command as one word of its shell, so that neither a
 * comment nor an "&" in it can swallow what follows. */
static void add_command(const struct import *import, const struct crontab_line *line,
                        struct text *out)
{
    const char *shell = value_of(import, "SHELL");
    text_add(out, "command = ");
    if (line->input == NULL) {
        text_add(out, line->command);
        text_add_char(out, '\n');
        return;
    }
    if (line->input[0] != '\0')
        text_add(out, "printf '%s\\n'");
    for (const char *at = line->input; *at != '\0'; at += strcspn(at, "\n") + 1) {
        text_add_char(out, ' ');
        add_quoted(out, at, strcspn(at, "\n"));
    }
    text_add(out, line->input[0] != '\0' ? " | " : "");
    add_word(out, shell != NULL && shell[0] != '\0' ? shell : DEFAULT_SHELL);
    text_add(out, " -c ");
    add_quoted(out, line->command, strlen(line->command));
    text_add(out, line->input[0] != '\0' ? "\n" : " </dev/null\n");
}

static void add_settings(struct import *import, const struct crontab_line *line, struct text *out)
{
    const char *zone = value_of(import, "CRON_TZ"), *shell = value_of(import, "SHELL");
    const char *home = value_of(import, "HOME"), *delay = value_of(import, "RANDOM_DELAY");
    text_addf(out, "schedule = %s\n", line->schedule);
    if (zone == NULL || zone[0] == '\0')
        zone = import->timezone;
    if (zone != NULL && strncmp(line->schedule, "@every", 6) != 0)
        text_addf(out, "timezone = %s\n", zone);
    if (line->user != NULL)
        text_addf(out, "user = %s\n", line->user);
    if (shell != NULL && shell[0] != '\0' && strcmp(shell, DEFAULT_SHELL) != 0) {
        text_add(out, "shell = ");
        add_word(out, shell);
        text_add_char(out, '\n');
    }
    if (home != NULL && home[0] == '/')
        text_addf(out, "cwd = %s\n", home);
    if (delay != NULL && atoi(delay) > 0)
        text_addf(out, "jitter = %dm\n", atoi(delay));
    add_environment(import, out);
}

/* What cron would have read otherwise, or not at all. */
static void add_doubts(struct import *import, const struct crontab_line *line, const char *bytes,
                       size_t count)
{
    struct cron cron;
    struct error error;
    struct text *out = &import->out;
    if (line->is_quiet)
        text_add(out, "# cron was not to log it (\"-\" before the schedule)\n");
    if (import->format == CRONTAB_CRON && memmem(bytes, count, "\\\\", 2) != NULL)
        text_add(out, "# two backslashes are one in a crontab; in cronie's they are two\n");
    if (import->format == CRONTAB_CRON && cron_parse(line->schedule, "", &cron, &error) &&
        (cron.near_days != 0 || cron.nth_weekdays != 0 || cron.last_weekdays != 0 ||
         (cron.days & 1) != 0))
        text_add(out, "# cron itself knows no L, W and #: see when it is due\n");
}

static bool is_within_limits(const struct text *section)
{
    const char *end;
    for (const char *at = text_string(section); (end = strchr(at, '\n')) != NULL; at = end + 1)
        if (end - at > INI_VALUE_MAX)
            return false;
    return true;
}

static void take_job(struct import *import, const struct crontab_line *line, const char *bytes,
                     size_t count)
{
    TEXT_AUTODONE struct text section = TEXT_INIT;
    if (import->is_zone_bad) {
        add_fault(import, "CRON_TZ before it names no known zone", bytes, count);
        return;
    }
    add_settings(import, line, &section);
    add_command(import, line, &section);
    if (!is_within_limits(&section)) {
        add_fault(import, "command or variables are longer than 64 KiB", bytes, count);
        return;
    }
    text_addf(&import->out, "\n# %s:%d\n", import->file, import->line);
    add_doubts(import, line, bytes, count);
    text_addf(&import->out, "[job %s]\n", new_name(import, line->command));
    text_add(&import->out, text_string(&section));
}

/* ---- the file ---- */

static void take_line(struct import *import, const char *bytes, size_t count)
{
    struct crontab_line line;
    crontab_line_parse(bytes, count, import->format, import->has_user_column, &line);
    switch (line.kind) {
    case CRONTAB_BLANK:
        break;
    case CRONTAB_COMMENT:
        text_addf(&import->out, "%s\n", line.text);
        break;
    case CRONTAB_VARIABLE:
        take_variable(import, &line, bytes, count);
        break;
    case CRONTAB_JOB:
        take_job(import, &line, bytes, count);
        break;
    case CRONTAB_FAULT:
        add_fault(import, line.text, bytes, count);
        break;
    }
    crontab_line_done(&line);
}

void import_file(struct import *import, const char *bytes, size_t count)
{
    const char *end = bytes + count;
    ini_faults_begin_file(&import->faults, import->file);
    text_addf(&import->out, "# The jobs of %s, by leaserun import.\n", import->file);
    for (const char *at = bytes; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline != NULL ? newline : end) - at);
        import->line++;
        take_line(import, at, length);
        at += length + 1;
    }
    if (import->job_count == 0)
        text_add(&import->out, "\n[defaults]\n"); /* a file without any section is a fault */
}

void import_done(struct import *import)
{
    for (size_t i = 0; i < import->variable_count; i++) {
        free(import->variables[i].name);
        free(import->variables[i].value);
    }
    for (size_t i = 0; i < import->job_count; i++)
        free(import->names[i]);
    free(import->variables);
    free(import->names);
    name_index_done(&import->name_index);
    ini_faults_done(&import->faults);
    text_done(&import->out);
}
