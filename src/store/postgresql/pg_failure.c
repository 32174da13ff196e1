/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_failure.h"

#include "base/mem.h"
#include "base/text.h"
#include "conf/store_url.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct failure_row {
    const char *prefix; /* of the SQLSTATE; the first that matches counts */
    enum store_failure failure;
};

static const struct failure_row failure_rows[] = {
    {.prefix = "08", .failure = FAILURE_UNREACHABLE},
    {.prefix = "23505", .failure = FAILURE_CONFLICT}, /* two claims of a slot in one instant */
    {.prefix = "25006", .failure = FAILURE_READ_ONLY},
    {.prefix = "28", .failure = FAILURE_REFUSED},
    {.prefix = "3D000", .failure = FAILURE_REFUSED},
    {.prefix = "3F000", .failure = FAILURE_SCHEMA},
    {.prefix = "40", .failure = FAILURE_CONFLICT},
    {.prefix = "42P01", .failure = FAILURE_SCHEMA},
    {.prefix = "42703", .failure = FAILURE_SCHEMA},
    {.prefix = "42883", .failure = FAILURE_SCHEMA},
    {.prefix = "42P10", .failure = FAILURE_SCHEMA}, /* no unique index for ON CONFLICT */
    {.prefix = "42501", .failure = FAILURE_RIGHTS},
    {.prefix = "53", .failure = FAILURE_UNREACHABLE},
    {.prefix = "55P03", .failure = FAILURE_CONFLICT},
    {.prefix = "57014", .failure = FAILURE_CONFLICT},
    {.prefix = "57", .failure = FAILURE_UNREACHABLE},
    {.prefix = "58", .failure = FAILURE_UNREACHABLE},
};

enum store_failure pg_failure_of(const char *sqlstate)
{
    if (sqlstate[0] == '\0')
        return FAILURE_UNREACHABLE;
    for (size_t i = 0; i < sizeof failure_rows / sizeof failure_rows[0]; i++)
        if (strncmp(sqlstate, failure_rows[i].prefix, strlen(failure_rows[i].prefix)) == 0)
            return failure_rows[i].failure;
    return FAILURE_OTHER;
}

bool pg_failure_is_refusal(const char *sqlstate)
{
    return sqlstate[0] != '\0' && pg_failure_of(sqlstate) == FAILURE_REFUSED;
}

static const char *field(const PGresult *result, int code)
{
    const char *text = PQresultErrorField(result, code);
    return text == NULL ? "" : text;
}

static void set_sqlstate(struct error *err, const char *sqlstate)
{
    snprintf(err->sqlstate, sizeof err->sqlstate, "%.5s", sqlstate);
}

static void describe(enum store_failure failure, const char *what, const char *schema,
                     const char *message, const char *sqlstate, struct error *err)
{
    bool is_default = strcmp(schema, STORE_SCHEMA_DEFAULT) == 0;
    switch (failure) {
    case FAILURE_SCHEMA:
        error_set(err, ERROR_CONFIG,
                  "the schema \"%s\" is not ready for leaserun in this database: %s (SQLSTATE %s); "
                  "create it with \"leaserun init%s%s\"",
                  schema, message, sqlstate, is_default ? "" : " --schema ",
                  is_default ? "" : schema);
        break;
    case FAILURE_RIGHTS:
        error_set(err, ERROR_CONFIG,
                  "the database role lacks a right for %s: %s (SQLSTATE %s); \"leaserun init "
                  "--print-sql\" shows the grants it needs",
                  what, message, sqlstate);
        break;
    case FAILURE_READ_ONLY:
        error_set(err, ERROR_STORE,
                  "the server takes no writes (a standby, or default_transaction_read_only is on): "
                  "%s (SQLSTATE %s)",
                  message, sqlstate);
        break;
    case FAILURE_NONE:
    case FAILURE_CONFLICT:
    case FAILURE_UNREACHABLE:
    case FAILURE_REFUSED:
    case FAILURE_OTHER:
        error_set(err, ERROR_STORE, "%s failed in the database: %s (SQLSTATE %s)", what, message,
                  sqlstate[0] == '\0' ? "none" : sqlstate);
        break;
    }
    set_sqlstate(err, sqlstate);
}

enum store_failure pg_failure_of_result(const PGresult *result, const char *what,
                                        const char *schema, struct error *err)
{
    const char *sqlstate = field(result, PG_DIAG_SQLSTATE);
    const char *message = field(result, PG_DIAG_MESSAGE_PRIMARY);
    if (message[0] == '\0')
        message = PQresultErrorMessage(result);
    enum store_failure failure = pg_failure_of(sqlstate);
    describe(failure, what, schema, message, sqlstate, err);
    return failure;
}

static bool is_sqlstate(const char *at)
{
    for (int i = 0; i < 5; i++)
        if (!isupper((unsigned char)at[i]) && !isdigit((unsigned char)at[i]))
            return false;
    return at[5] == ':' && at[6] == ' ';
}

/* "FATAL:  28P01: password ..." becomes "FATAL: password ...", the state is handed out. */
static void take_sqlstate(char *line, char ret_sqlstate[6])
{
    for (char *at = strstr(line, ":  "); at != NULL; at = strstr(at + 1, ":  ")) {
        if (!is_sqlstate(at + 3))
            continue;
        memcpy(ret_sqlstate, at + 3, 5);
        ret_sqlstate[5] = '\0';
        memmove(at + 2, at + 10, strlen(at + 10) + 1);
        return;
    }
}

/* libpq's guesses are indented; VERBOSE adds places in the server's source. */
static bool is_wanted(const char *line)
{
    return line[0] != '\t' && strncmp(line, "LOCATION:", 9) != 0 &&
           strncmp(line, "CONTEXT:", 8) != 0 && strcmp(line, "invalid socket") != 0;
}

/* One line for each way of encryption that was tried. */
static void collect_lines(const char *message, struct text *text, char ret_sqlstate[6])
{
    char *lines = mem_strdup(message), *rest = lines;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] == '\0' || !is_wanted(line))
            continue;
        take_sqlstate(line, ret_sqlstate);
        text_addf(text, "%s%s", text->length == 0 ? "" : "; ", line);
    }
    free(lines);
}

/* libpq leaves out a password file that others may read, and warns on stderr only. */
static bool is_open_to_others(const char *path)
{
    struct stat file;
    return path != NULL && stat(path, &file) == 0 && (file.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

static void add_password_advice(PGconn *conn, struct text *text)
{
    PQconninfoOption *options = PQconninfo(conn);
    const char *path = NULL;
    for (const PQconninfoOption *o = options; o != NULL && o->keyword != NULL; o++)
        if (strcmp(o->keyword, "passfile") == 0)
            path = o->val;
    if (is_open_to_others(path))
        text_addf(text, "; %s is not used, since others may read it: chmod 0600 it", path);
    else
        text_addf(text,
                  "; no password is given for this host: write it into %s (mode 0600), or "
                  "the store's URL into a LEASERUN_STORE_FILE",
                  path == NULL ? "a passfile" : path);
    PQconninfoFree(options);
}

void pg_failure_of_connection(PGconn *conn, struct error *err)
{
    struct text text TEXT_AUTODONE = TEXT_INIT;
    char sqlstate[6] = "";
    collect_lines(PQerrorMessage(conn), &text, sqlstate);
    if (text.length == 0)
        text_add(&text, "the connection was lost");
    if (sqlstate[0] != '\0')
        text_addf(&text, " (SQLSTATE %s)", sqlstate);
    bool lacks_password = PQconnectionNeedsPassword(conn) != 0;
    if (lacks_password)
        add_password_advice(conn, &text);
    error_set(err, lacks_password ? ERROR_CONFIG : ERROR_STORE, "%s", text_string(&text));
    set_sqlstate(err, sqlstate);
}
