/* SPDX-License-Identifier: ISC */
#include "cron/crontab.h"

#include "base/mem.h"
#include "base/text.h"
#include "cron/cron.h"
#include "cron/crontab_fields.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"

static void fault(struct crontab_line *line, const char *why)
{
    line->kind = CRONTAB_FAULT;
    line->text = mem_strdup(why);
}

/* ---- NAME = VALUE ---- */

/* The text up to the quote's end, or a word that "=" or a blank ends. NULL: a quote has no end. */
static char *take_name(const char **at)
{
    char quote = **at;
    if (quote != '"' && quote != '\'') {
        size_t length = strcspn(*at, BLANKS "=");
        char *name = mem_strndup(*at, length);
        *at += length;
        return name;
    }
    const char *end = strchr(*at + 1, quote);
    if (end == NULL)
        return NULL;
    char *name = mem_strndup(*at + 1, (size_t)(end - *at - 1));
    *at = end + 1;
    return name;
}

/* NULL when it begins with a quote, and that does not enclose it. */
static char *value_of(const char *at)
{
    size_t length = strlen(at);
    while (length > 0 && strchr(BLANKS, at[length - 1]) != NULL)
        length--;
    if (at[0] != '"' && at[0] != '\'')
        return mem_strndup(at, length);
    const char *end = strchr(at + 1, at[0]);
    return end == at + length - 1 ? mem_strndup(at + 1, length - 2) : NULL;
}

static bool parse_variable(const char *text, struct crontab_line *line)
{
    const char *at = text;
    char *name = take_name(&at);
    if (name == NULL)
        return false;
    at += strspn(at, BLANKS);
    if (*at != '=' || name[0] == '\0') {
        free(name);
        return false;
    }
    at++;
    line->kind = CRONTAB_VARIABLE;
    line->name = name;
    line->value = value_of(at + strspn(at, BLANKS));
    if (line->value == NULL)
        fault(line, "the value begins with a quote that does not enclose it");
    return true;
}

/* ---- the command ---- */

/* As do_command.c of Debian's cron does it, up to the first % that is not escaped: \% is %, two
 * backslashes are one, and other backslashes stay. Returns where the input begins, NULL without. */
static const char *take_until_percent(const char *text, struct text *command)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '%')
            return at + 1;
        if (*at == '\\' && (at[1] == '\\' || at[1] == '%'))
            at++;
        text_add_char(command, *at);
    }
    return NULL;
}

/* Of the input: % is a newline, \% is %, and all other backslashes stay. A newline ends it. */
static char *input_of(const char *text)
{
    struct text input = TEXT_INIT;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\\' && at[1] == '%')
            text_add_char(&input, *++at);
        else
            text_add_char(&input, *at == '%' ? '\n' : *at);
    }
    if (input.length > 0 && input.bytes[input.length - 1] != '\n')
        text_add_char(&input, '\n');
    return input.length > 0 ? text_detach(&input) : mem_strdup("");
}

static void split_at_percent(const char *text, struct crontab_line *line)
{
    struct text command = TEXT_INIT;
    const char *input = take_until_percent(text, &command);
    line->command = command.length > 0 ? text_detach(&command) : mem_strdup("");
    line->input = input != NULL ? input_of(input) : NULL;
}

static void trim_end(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr(BLANKS, text[length - 1]) != NULL)
        text[--length] = '\0';
}

static void take_command(const char *at, enum crontab_format format, bool has_user_column,
                         struct crontab_line *line)
{
    if (has_user_column) {
        size_t length = strcspn(at, BLANKS);
        line->user = mem_strndup(at, length);
        at += length;
        at += strspn(at, BLANKS);
    }
    if (format == CRONTAB_CRON)
        split_at_percent(at, line);
    else
        line->command = mem_strdup(at);
    trim_end(line->command);
    if (line->command[0] == '\0')
        fault(line, has_user_column && line->user[0] == '\0' ? "user and command are missing"
                                                             : "the command is missing");
}

/* ---- the line ---- */

static void parse_job(const char *text, enum crontab_format format, bool has_user_column,
                      struct crontab_line *line)
{
    struct error error;
    struct cron cron;
    const char *rest = text;
    line->is_quiet = format == CRONTAB_CRON && text[0] == '-';
    if (line->is_quiet)
        rest++;
    line->kind = CRONTAB_JOB;
    line->schedule = format == CRONTAB_CRON ? crontab_fields_of_cron(&rest)
                                            : crontab_fields_of_supercronic(&rest, &error);
    if (line->schedule == NULL) {
        fault(line, format == CRONTAB_CRON ? "it is neither schedule and command nor NAME=VALUE"
                                           : error.text);
        return;
    }
    rest += strspn(rest, BLANKS);
    if (!cron_parse(line->schedule, "", &cron, &error))
        fault(line, error.text);
    else
        take_command(rest, format, has_user_column, line);
}

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++)
        if (iscntrl((unsigned char)*text) && *text != '\t')
            return true;
    return false;
}

void crontab_line_parse(const char *bytes, size_t length, enum crontab_format format,
                        bool has_user_column, struct crontab_line *ret_line)
{
    *ret_line = (struct crontab_line){.kind = CRONTAB_BLANK};
    if (length > 0 && bytes[length - 1] == '\r')
        length--;
    MEM_AUTOFREE char *copy = mem_strndup(bytes, length);
    const char *text = copy + strspn(copy, BLANKS);
    if (strlen(copy) < length || has_control(copy))
        fault(ret_line, "it has a control character");
    else if (text[0] == '#')
        *ret_line = (struct crontab_line){.kind = CRONTAB_COMMENT, .text = mem_strdup(text)};
    else if (text[0] != '\0' && !parse_variable(text, ret_line))
        parse_job(text, format, has_user_column, ret_line);
}

void crontab_line_done(struct crontab_line *line)
{
    free(line->text);
    free(line->name);
    free(line->value);
    free(line->schedule);
    free(line->user);
    free(line->command);
    free(line->input);
    *line = (struct crontab_line){.kind = CRONTAB_BLANK};
}
