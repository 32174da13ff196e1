/* SPDX-License-Identifier: ISC */
/* The log: whatever the fields hold, an event is one line of UTF-8 that drives no terminal, and
 * reads back. */
#include "base/mem.h"
#include "fuzz.h"
#include "json_scan.h"
#include "log/log_line.h"

#include <stdlib.h>
#include <string.h>

struct fields {
    struct log_scope scope;
    struct error error;
    char *strings[6]; /* job key run_id holder outcome, and the sentence */
};

static void take_fields(struct fuzz_input *input, struct fields *ret_fields)
{
    unsigned given = fuzz_byte(input);
    *ret_fields = (struct fields){.scope = LOG_SCOPE_NONE};
    struct log_scope *scope = &ret_fields->scope;
    scope->fence = fuzz_int64(input);
    scope->slot_us = given & 1 ? fuzz_int64(input) : NO_INSTANT;
    scope->streak = (int)fuzz_below(input, 3);
    scope->status = (int)fuzz_byte(input) - 1;
    scope->took_ms = fuzz_int64(input);
    for (int i = 0; i < 6; i++)
        ret_fields->strings[i] = fuzz_string(input);
    const char **members[] = {&scope->job, &scope->key, &scope->run_id, &scope->holder,
                              &scope->outcome};
    for (int i = 0; i < 5; i++)
        *members[i] = given >> (i + 1) & 1 ? ret_fields->strings[i] : NULL;
    if ((given >> 6 & 1) == 0)
        return;
    scope->error = &ret_fields->error;
    char *text = fuzz_string(input), *sqlstate = fuzz_string(input);
    error_set(&ret_fields->error, ERROR_STORE, "%s", text);
    strncpy(ret_fields->error.sqlstate, sqlstate, sizeof ret_fields->error.sqlstate - 1);
    free(text);
    free(sqlstate);
}

static bool drives_terminal(const char *at)
{
    const unsigned char *c = (const unsigned char *)at;
    return c[0] < ' ' || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0) ||
           (c[0] == 0xe2 && c[1] == 0x80 && c[2] >= 0xa8 && c[2] <= 0xae) ||
           (c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9);
}

static void check_line(const struct text *line)
{
    const char *bytes = text_string(line);
    FUZZ_CHECK(strlen(bytes) == line->length && line->length > 1);
    FUZZ_CHECK(bytes[line->length - 1] == '\n' && fuzz_is_utf8(bytes, line->length));
    for (size_t i = 0; i + 1 < line->length; i++)
        FUZZ_CHECK(!drives_terminal(bytes + i));
}

/* A value that was UTF-8 is there as it was. */
static void check_value(const char *given, const char *found)
{
    if (given == NULL || given[0] == '\0')
        FUZZ_CHECK(found == NULL);
    else
        FUZZ_CHECK(found != NULL &&
                   (!fuzz_is_utf8(given, strlen(given)) || strcmp(given, found) == 0));
}

static void check_json(const struct fields *fields, char *line)
{
    line[strcspn(line, "\n")] = '\0';
    FUZZ_CHECK(json_is_object(line));
    static const char *const names[] = {"job", "key", "run_id", "holder", "outcome"};
    const struct log_scope *scope = &fields->scope;
    const char *const given[] = {scope->job, scope->key, scope->run_id, scope->holder,
                                 scope->outcome};
    for (int i = 0; i < 5; i++) {
        char *found = json_member(line, names[i]);
        check_value(given[i], found);
        free(found);
    }
    char *message = json_member(line, "message");
    check_value(fields->strings[5], message);
    free(message);
}

/* name=value name="value": values without quotes have nothing to unquote. */
static void check_logfmt(const struct fields *fields, const char *at)
{
    char *key = NULL, *message = NULL;
    while (*at != '\n') {
        const char *name = at;
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
        at += length;
        FUZZ_CHECK(length > 0 && *at == '=');
        at++;
        size_t bare = strcspn(at, " \n\"=\\");
        char *value = *at == '"' ? json_read_string(&at) : mem_strndup(at, bare);
        FUZZ_CHECK(value != NULL);
        if (at[0] != ' ' && at[0] != '\n')
            at += bare;
        FUZZ_CHECK(*at == ' ' || *at == '\n');
        at += *at == ' ';
        char **kept = strncmp(name, "key=", 4) == 0   ? &key
                      : strncmp(name, "msg=", 4) == 0 ? &message
                                                      : NULL;
        if (kept == NULL)
            free(value);
        else
            *kept = value;
    }
    check_value(fields->scope.key, key);
    check_value(fields->strings[5], message);
    free(key);
    free(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct fuzz_input input = {bytes, bytes + count};
    struct fields fields;
    struct text line = TEXT_INIT;
    enum level level = fuzz_below(&input, LEVEL_COUNT);
    enum event event = fuzz_below(&input, EVENT_COUNT);
    int64_t wall_us = fuzz_int64(&input);
    take_fields(&input, &fields);
    for (int format = LOG_FORMAT_TEXT; format <= LOG_FORMAT_JSON; format++) {
        log_line_build(&line, (enum log_format)format, level, event, &fields.scope,
                       fields.strings[5], wall_us);
        check_line(&line);
        if (format == LOG_FORMAT_LOGFMT)
            check_logfmt(&fields, text_string(&line));
    }
    check_json(&fields, line.bytes);
    text_done(&line);
    for (int i = 0; i < 6; i++)
        free(fields.strings[i]);
    return 0;
}
