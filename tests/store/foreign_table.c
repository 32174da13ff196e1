/* SPDX-License-Identifier: ISC */
#include "foreign_table.h"

#include "base/mem.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With the names that a column may have at worst, and what their keepers may demand. */
static const char fenceless_sql[] =
    ".\"Weird \"\"Table\"\" %s @leases\" ("
    "\"Key, of = it\" text COLLATE \"C\" NOT NULL, \"#holder!\" varchar(120) NOT NULL, "
    "\"since\" timestamptz NOT NULL DEFAULT clock_timestamp(), \"order\" timestamptz NOT NULL, "
    "note text NOT NULL DEFAULT 'none', UNIQUE (\"Key, of = it\"), CHECK (\"order\" > \"since\"))";

static const char shedlock_sql[] =
    ".shedlock (name VARCHAR(64) NOT NULL, lock_until TIMESTAMP NOT NULL, "
    "locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))";

static void run_sql(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        fprintf(stderr, "# %s: %s\n", sql, PQerrorMessage(conn));
        abort();
    }
    PQclear(result);
}

static void run_named(PGconn *conn, const char *before, const char *schema, const char *after)
{
    char *sql = mem_printf("%s\"%s\"%s", before, schema, after);
    run_sql(conn, sql);
    free(sql);
}

static PGconn *drop(const char *url, const char *schema)
{
    PGconn *conn = PQconnectdb(url);
    if (PQstatus(conn) != CONNECTION_OK) {
        fprintf(stderr, "# %s\n", PQerrorMessage(conn));
        abort();
    }
    run_sql(conn, "SET client_min_messages = warning");
    run_named(conn, "DROP SCHEMA IF EXISTS ", schema, " CASCADE");
    return conn;
}

void foreign_table_drop(const char *url, const char *schema)
{
    PQfinish(drop(url, schema));
}

void foreign_table_create(const char *url, const char *schema, const char *dialect)
{
    PGconn *conn = drop(url, schema);
    const char *rest = strcmp(dialect, "shedlock") == 0 ? shedlock_sql : fenceless_sql;
    run_named(conn, "CREATE SCHEMA ", schema, "");
    run_named(conn, "CREATE TABLE ", schema, rest);
    PQfinish(conn);
}
