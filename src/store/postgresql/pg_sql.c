/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_sql.h"

#include "base/now.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

struct clause {
    const char *name;
    const char *before;
    const char *after; /* what stands round the argument; NULL: there is none */
};

static const struct clause clauses[] = {
    {.name = "us", .before = "!round(!date_part('epoch', ", .after = ") {*} 1000000)::!int8"},
    {.name = "instant",
     .before = "('epoch'::!timestamptz {+} (",
     .after = " {*} '1 microsecond'::!interval))"},
    {.name = "ms", .before = "!ceil(!date_part('epoch', ", .after = ") {*} 1000)::!int8"},
    {.name = "span", .before = "(", .after = " {*} '1 millisecond'::!interval)"},
    {.name = "wake",
     .before = "CASE WHEN lease.waited THEN !pg_notify('" PG_SQL_CHANNEL "', lease.key) END"},
    {.name = "server",
     .before = "!round(!date_part('epoch', !clock_timestamp()) {*} 1000000)::!int8 AS server_us, "
               "CASE WHEN !pg_is_in_recovery() THEN '' "
               "ELSE !substr(!pg_walfile_name(!pg_current_wal_lsn()), 1, 8) END AS timeline"},
    {.name = "settings",
     .before = "settings AS MATERIALIZED (SELECT "
               "!set_config('lock_timeout', $1, true) AS lock_timeout, "
               "CASE WHEN !current_setting('synchronous_commit') {=} "
               "ANY ('{off,local,remote_write}'::!text[]) "
               "THEN !set_config('synchronous_commit', 'on', true) END AS commit)"},
};

struct scope {
    const char *schema;
    const struct pg_sql_name *names; /* NULL: none */
};

static void expand(struct text *out, const char *at, const char *end, const struct scope *scope);

static void add_quoted(struct text *out, const char *name, char quote)
{
    text_add_char(out, quote);
    for (; *name != '\0'; name++) {
        if (*name == quote)
            text_add_char(out, quote);
        text_add_char(out, *name);
    }
    text_add_char(out, quote);
}

/* As quote_literal(text) does: with standard_conforming_strings off, a backslash escapes. */
static void add_literal(struct text *out, const char *string)
{
    if (strchr(string, '\\') == NULL) {
        add_quoted(out, string, '\'');
        return;
    }
    struct text doubled TEXT_AUTODONE = TEXT_INIT;
    for (; *string != '\0'; string++) {
        if (*string == '\\')
            text_add_char(&doubled, '\\');
        text_add_char(&doubled, *string);
    }
    text_add_char(out, 'E');
    add_quoted(out, text_string(&doubled), '\'');
}

static size_t count_name_chars(const char *at)
{
    size_t count = 0;
    while (isalnum((unsigned char)at[count]) || at[count] == '_')
        count++;
    return count;
}

/* Each takes what follows the mark and returns what follows its text. */

static const char *expand_ours(struct text *out, const char *at, const char *schema)
{
    bool is_regclass = *at == '@';
    at += is_regclass ? 1 : 0;
    size_t length = count_name_chars(at);
    struct text name TEXT_AUTODONE = TEXT_INIT;
    add_quoted(&name, schema, '"');
    if (length > 0)
        text_add_char(&name, '.');
    text_add_bytes(&name, at, length);
    if (is_regclass) {
        add_literal(out, text_string(&name));
        text_add(out, "::pg_catalog.regclass");
    } else {
        text_add(out, text_string(&name));
    }
    return at + length;
}

static const char *expand_operator(struct text *out, const char *at)
{
    size_t length = strcspn(at, "}");
    text_add(out, "OPERATOR(pg_catalog.");
    text_add_bytes(out, at, length);
    text_add_char(out, ')');
    return at + length + 1;
}

/* at: on the opening parenthesis. */
static const char *find_closing(const char *at)
{
    int depth = 0;
    for (;; at++) {
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        if (depth == 0 || *at == '\0')
            return at;
    }
}

/* An unknown name is a fault that the first test meets. */
static const char *expand_name(struct text *out, const char *at, const struct pg_sql_name *names)
{
    size_t length = count_name_chars(at);
    while (strlen(names->name) != length || strncmp(names->name, at, length) != 0)
        names++;
    text_add(out, names->text);
    return at + length;
}

static const char *expand_clause(struct text *out, const char *at, const struct scope *scope)
{
    size_t length = count_name_chars(at);
    const struct clause *clause = clauses;
    while (strlen(clause->name) != length || strncmp(clause->name, at, length) != 0)
        clause++; /* an unknown name is a fault that the first test meets */
    at += length;
    expand(out, clause->before, clause->before + strlen(clause->before), scope);
    if (clause->after == NULL)
        return at;
    const char *closing = find_closing(at);
    expand(out, at + 1, closing, scope);
    expand(out, clause->after, clause->after + strlen(clause->after), scope);
    return closing + 1;
}

/* An array constant begins with a letter where an operator's mark has its sign. */
static bool starts_operator(const char *at)
{
    return at[0] == '{' && at[1] != '\0' && strchr("=<>+-*/|~", at[1]) != NULL;
}

static void expand(struct text *out, const char *at, const char *end, const struct scope *scope)
{
    while (at < end) {
        if (*at == '@') {
            at = expand_ours(out, at + 1, scope->schema);
        } else if (*at == '!') {
            text_add(out, "pg_catalog.");
            at++;
        } else if (*at == '#') {
            at = expand_clause(out, at + 1, scope);
        } else if (*at == '%' && scope->names != NULL) {
            at = expand_name(out, at + 1, scope->names);
        } else if (starts_operator(at)) {
            at = expand_operator(out, at + 1);
        } else {
            text_add_char(out, *at++);
        }
    }
}

char *pg_sql_expand(const char *template, const char *schema)
{
    return pg_sql_expand_names(template, schema, NULL);
}

char *pg_sql_expand_names(const char *template, const char *schema, const struct pg_sql_name *names)
{
    struct text out = TEXT_INIT;
    const struct scope scope = {.schema = schema, .names = names};
    expand(&out, template, template + strlen(template), &scope);
    return text_detach(&out);
}

void pg_sql_add_identifier(struct text *out, const char *name)
{
    add_quoted(out, name, '"');
}

static void add_hex(struct text *out, const char *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        text_add_char(out, digits[byte >> 4]);
        text_add_char(out, digits[byte & 15]);
    }
}

char *pg_sql_bytes(const char *bytes, size_t count)
{
    struct text out = TEXT_INIT;
    text_add(&out, "\\x");
    add_hex(&out, bytes, count);
    return text_detach(&out);
}

void pg_array_begin(struct text *array)
{
    text_clear(array);
    text_add_char(array, '{');
}

static void add_comma(struct text *array)
{
    if (array->length > 1)
        text_add_char(array, ',');
}

void pg_array_add_text(struct text *array, const char *value)
{
    add_comma(array);
    if (value == NULL) {
        text_add(array, "NULL");
        return;
    }
    text_add_char(array, '"');
    for (;;) {
        size_t plain = strcspn(value, "\"\\");
        text_add_bytes(array, value, plain);
        value += plain;
        if (*value == '\0')
            break;
        text_add_char(array, '\\');
        text_add_char(array, *value++);
    }
    text_add_char(array, '"');
}

/* Batches are full of numbers, and printf takes its time. */
static void add_number(struct text *out, int64_t value)
{
    char digits[24];
    char *first = digits + sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        *--first = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (value < 0)
        *--first = '-';
    text_add_bytes(out, first, (size_t)(digits + sizeof digits - first));
}

void pg_array_add_int64(struct text *array, int64_t value)
{
    add_comma(array);
    if (value == NO_INSTANT)
        text_add(array, "NULL");
    else
        add_number(array, value);
}

void pg_array_add_bytes(struct text *array, const char *bytes, size_t count)
{
    add_comma(array);
    text_add(array, bytes == NULL ? "NULL" : "\\\\x");
    if (bytes != NULL)
        add_hex(array, bytes, count);
}

void pg_array_end(struct text *array)
{
    text_add_char(array, '}');
}
