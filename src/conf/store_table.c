/* SPDX-License-Identifier: ISC */
#include "conf/store_table.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const column_names[STORE_COLUMN_COUNT] = {
    [STORE_COLUMN_KEY] = "key",
    [STORE_COLUMN_HOLDER] = "holder",
    [STORE_COLUMN_ACQUIRED_AT] = "acquired_at",
    [STORE_COLUMN_EXPIRES_AT] = "expires_at",
};

static const struct dialect {
    const char *name;
    const char *table; /* NULL: must be named */
    const char *columns[STORE_COLUMN_COUNT];
} dialects[] = {
    [DIALECT_LEASERUN] = {.name = "leaserun"},
    [DIALECT_FENCELESS] = {"fenceless", NULL, {"key", "holder", "acquired_at", "expires_at"}},
    [DIALECT_SHEDLOCK] = {"shedlock", "shedlock", {"name", "locked_by", "locked_at", "lock_until"}},
};

const char *store_column_name(enum store_column column)
{
    return column_names[column];
}

const char *store_dialect_name(enum store_dialect dialect)
{
    return dialects[dialect].name;
}

/* ---- names, as in SQL -------------------------------------------------------------------- */

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

static bool is_plain(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80) != 0;
}

/* Up to and with the closing quote; two quotes are one. */
static const char *read_quoted(const char *at, struct text *name)
{
    for (at++; *at != '\0'; at++) {
        if (*at == '"' && at[1] != '"')
            return at + 1;
        if (*at == '"')
            at++;
        text_add_char(name, *at);
    }
    return NULL;
}

static const char *read_plain(const char *at, struct text *name)
{
    for (; is_plain(*at); at++)
        text_add_char(name, (char)((*at & 0x80) != 0 ? *at : tolower((unsigned char)*at)));
    return at;
}

/* Returns what follows the name and blanks; NULL with *err filled when there is none. */
static const char *read_name(const char *at, char **ret_name, struct error *err)
{
    struct text name = TEXT_INIT;
    const char *start = skip_blanks(at);
    const char *end = *start == '"' ? read_quoted(start, &name) : read_plain(start, &name);
    if (end == NULL)
        error_set(err, ERROR_CONFIG, "the quote before \"%s\" is not closed", start + 1);
    else if (name.length == 0)
        error_set(err, ERROR_CONFIG,
                  "a name is missing before \"%s\" (names with other characters than letters, "
                  "digits and _ stand in double quotes)",
                  start);
    else
        return *ret_name = text_detach(&name), skip_blanks(end);
    text_done(&name);
    return NULL;
}

/* ---- the table and its columns ----------------------------------------------------------- */

static bool read_table(const char *value, struct store_table *table, struct error *err)
{
    const char *at = read_name(value, &table->name, err);
    if (at != NULL && *at == '.') {
        table->schema = table->name;
        table->name = NULL;
        at = read_name(at + 1, &table->name, err);
    }
    if (at != NULL && *at != '\0')
        error_set(err, ERROR_CONFIG, "what should \"%s\" be after the table's name?", at);
    if (table->schema == NULL)
        table->schema = mem_strdup("public");
    return at != NULL && *at == '\0';
}

static bool find_column(const char *name, enum store_column *ret_column, struct error *err)
{
    for (int c = 0; c < STORE_COLUMN_COUNT; c++)
        if (strcmp(column_names[c], name) == 0)
            return *ret_column = (enum store_column)c, true;
    return error_set(err, ERROR_CONFIG,
                     "\"%s\" is none of the columns, which are key, holder, acquired_at and "
                     "expires_at",
                     name);
}

/* One NAME=COLUMN; returns what follows it. */
static const char *read_column(const char *at, struct store_table *table, struct error *err)
{
    MEM_AUTOFREE char *ours = NULL;
    enum store_column column = STORE_COLUMN_KEY;
    at = read_name(at, &ours, err);
    if (at == NULL || !find_column(ours, &column, err))
        return NULL;
    if (*at != '=') {
        error_set(err, ERROR_CONFIG, "\"=\" and a column's name should follow \"%s\"", ours);
        return NULL;
    }
    if (table->columns[column] != NULL) {
        error_set(err, ERROR_CONFIG, "\"%s\" stands twice", ours);
        return NULL;
    }
    return read_name(at + 1, &table->columns[column], err);
}

static bool read_columns(const char *value, struct store_table *table, struct error *err)
{
    const char *at = value;
    do {
        at = read_column(at, table, err);
        if (at == NULL)
            return false;
        if (*at != '\0' && *at != ',')
            return error_set(err, ERROR_CONFIG, "a comma should stand before \"%s\"", at);
    } while (*at++ == ',');
    return true;
}

static void add_defaults(const struct dialect *dialect, struct store_table *table)
{
    for (int c = 0; c < STORE_COLUMN_COUNT; c++)
        if (table->columns[c] == NULL)
            table->columns[c] = mem_strdup(dialect->columns[c]);
}

static bool check_distinct(const struct store_table *table, struct error *err)
{
    for (int c = 0; c < STORE_COLUMN_COUNT; c++)
        for (int before = 0; before < c; before++)
            if (strcmp(table->columns[c], table->columns[before]) == 0)
                return error_set(err, ERROR_CONFIG,
                                 "columns: %s and %s cannot both be the column \"%s\"",
                                 column_names[before], column_names[c], table->columns[c]);
    return true;
}

static bool read_foreign(const struct store_config *config, struct store_table *table,
                         struct error *err)
{
    const struct dialect *dialect = &dialects[config->dialect];
    const char *name = config->table != NULL ? config->table : dialect->table;
    if (strncmp(config->url, "sqlite:", 7) == 0)
        return error_set(err, ERROR_CONFIG,
                         "dialect %s is for a table in PostgreSQL, and the store is an SQLite file",
                         dialect->name);
    if (name == NULL)
        return error_set(err, ERROR_CONFIG, "dialect %s needs the name of the table: table",
                         dialect->name);
    if (!read_table(name, table, err))
        return error_prefix(err, "table");
    if (config->columns != NULL && !read_columns(config->columns, table, err))
        return error_prefix(err, "columns");
    add_defaults(dialect, table);
    return check_distinct(table, err);
}

bool store_table_read(const struct store_config *config, struct store_table *ret_table,
                      struct error *err)
{
    struct store_table table = {.dialect = config->dialect};
    if (config->dialect == DIALECT_LEASERUN) {
        *ret_table = table;
        if (config->table == NULL && config->columns == NULL)
            return true;
        return error_set(err, ERROR_CONFIG,
                         "%s is for the table of another program: name its dialect, fenceless or "
                         "shedlock",
                         config->table != NULL ? "table" : "columns");
    }
    if (read_foreign(config, &table, err))
        return *ret_table = table, true;
    store_table_done(&table);
    return false;
}

void store_table_done(struct store_table *table)
{
    free(table->schema);
    free(table->name);
    for (int c = 0; c < STORE_COLUMN_COUNT; c++)
        free(table->columns[c]);
    *table = (struct store_table){.dialect = DIALECT_LEASERUN};
}
