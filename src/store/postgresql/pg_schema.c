/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_schema.h"

#include "store/postgresql/pg_ops.h"
#include "store/postgresql/pg_row.h"
#include "store/postgresql/pg_sql.h"

#include <stdlib.h>
#include <string.h>

/* ---- what there is to be ----------------------------------------------------------------- */

struct object {
    const char *name;
    char kind; /* pg_class.relkind: r table, S sequence, i index */
    const char *sql;
};

/* leases is small and hot. Half-full pages let every update stay in its page (HOT), no index but
 * the key's keeps that possible, and an end of the table that is never cut off takes no exclusive
 * lock. */
static const struct object objects[] = {
    {
        .name = "fence_seq",
        .kind = 'S',
        .sql = "CREATE SEQUENCE IF NOT EXISTS @fence_seq AS !int8 CACHE 1;\n",
    },
    {
        .name = "leases",
        .kind = 'r',
        .sql = "CREATE TABLE IF NOT EXISTS @leases (\n"
               "    key !text COLLATE !\"C\" PRIMARY KEY,\n"
               "    holder !text COLLATE !\"C\" NOT NULL,\n"
               "    run_id !text COLLATE !\"C\" NOT NULL,\n"
               "    previous_run_id !text COLLATE !\"C\",\n"
               "    fence !int8 NOT NULL,\n"
               "    attempt !int4 NOT NULL,\n"
               "    acquired_at !timestamptz NOT NULL,\n"
               "    expires_at !timestamptz NOT NULL,\n"
               "    not_before !timestamptz,\n"
               "    released !bool NOT NULL,\n"
               "    revoked !bool NOT NULL,\n"
               "    slot !timestamptz,\n"
               "    ttl_ms !int8 NOT NULL,\n"
               "    fingerprint !text COLLATE !\"C\"\n"
               ") WITH (fillfactor = 50, vacuum_truncate = off,\n"
               "    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);\n",
    },
    {
        .name = "runs",
        .kind = 'r',
        .sql = "CREATE TABLE IF NOT EXISTS @runs (\n"
               "    run_id !text COLLATE !\"C\" PRIMARY KEY,\n"
               "    key !text COLLATE !\"C\" NOT NULL,\n"
               "    job !text COLLATE !\"C\",\n"
               "    slot !timestamptz,\n"
               "    is_once !bool NOT NULL,\n"
               "    fence !int8 NOT NULL,\n"
               "    holder !text COLLATE !\"C\" NOT NULL,\n"
               "    attempt !int4 NOT NULL,\n"
               "    started_at !timestamptz,\n"
               "    finished_at !timestamptz,\n"
               "    outcome !text COLLATE !\"C\",\n"
               "    status !int4,\n"
               "    abandoned_by !text COLLATE !\"C\",\n"
               "    UNIQUE (key, slot)\n"
               ") WITH (fillfactor = 80);\n",
    },
    {
        .name = "runs_once", /* holds the few runs that succeed once */
        .kind = 'i',
        .sql = "CREATE INDEX IF NOT EXISTS runs_once ON @runs (key) WHERE is_once;\n",
    },
    {
        .name = "schema_version",
        .kind = 'r',
        .sql = "CREATE TABLE IF NOT EXISTS @schema_version (\n"
               "    version !int4 PRIMARY KEY,\n"
               "    oldest_reader !int4 NOT NULL\n"
               ");\n"
               "INSERT INTO @schema_version (version, oldest_reader) VALUES (1, 1)\n"
               "    ON CONFLICT (version) DO NOTHING;\n",
    },
};
#define OBJECT_COUNT (sizeof objects / sizeof objects[0])

const char *const pg_schema_tables[] = {"leases", "runs", "schema_version", NULL};

struct column {
    const char *table;
    const char *name;
    const char *type; /* as format_type shows it, and " C" for the collation */
};

static const struct column columns[] = {
    {"leases", "key", "text C"},
    {"leases", "holder", "text C"},
    {"leases", "run_id", "text C"},
    {"leases", "previous_run_id", "text C"},
    {"leases", "fence", "bigint"},
    {"leases", "attempt", "integer"},
    {"leases", "acquired_at", "timestamp with time zone"},
    {"leases", "expires_at", "timestamp with time zone"},
    {"leases", "not_before", "timestamp with time zone"},
    {"leases", "released", "boolean"},
    {"leases", "revoked", "boolean"},
    {"leases", "slot", "timestamp with time zone"},
    {"leases", "ttl_ms", "bigint"},
    {"leases", "fingerprint", "text C"},
    {"runs", "run_id", "text C"},
    {"runs", "key", "text C"},
    {"runs", "job", "text C"},
    {"runs", "slot", "timestamp with time zone"},
    {"runs", "is_once", "boolean"},
    {"runs", "fence", "bigint"},
    {"runs", "holder", "text C"},
    {"runs", "attempt", "integer"},
    {"runs", "started_at", "timestamp with time zone"},
    {"runs", "finished_at", "timestamp with time zone"},
    {"runs", "outcome", "text C"},
    {"runs", "status", "integer"},
    {"runs", "abandoned_by", "text C"},
    {"schema_version", "version", "integer"},
    {"schema_version", "oldest_reader", "integer"},
};

struct uniqueness {
    const char *table;
    const char *columns;
};

static const struct uniqueness uniquenesses[] = {
    {"leases", "key"},
    {"runs", "run_id"},
    {"runs", "key,slot"},
};

/* ---- what there is ----------------------------------------------------------------------- */

#define OF_SCHEMA "JOIN !pg_namespace AS n ON n.oid {=} c.relnamespace AND n.nspname {=} $1::!text "

const char pg_schema_facts_sql[] =
    "SELECT f.what, f.name, f.part, f.detail, #server FROM ("
    "SELECT 'schema' AS what, n.nspname::!text AS name, '' AS part, '' AS detail "
    "FROM !pg_namespace AS n WHERE n.nspname {=} $1::!text "
    "UNION ALL SELECT 'right', 'schema', 'USAGE', !has_schema_privilege(n.oid, 'USAGE')::!text "
    "FROM !pg_namespace AS n WHERE n.nspname {=} $1::!text "
    "UNION ALL SELECT 'relation', c.relname::!text, '', c.relkind::!text "
    "FROM !pg_class AS c " OF_SCHEMA
    "UNION ALL SELECT 'column', c.relname::!text, a.attname::!text, "
    "!replace(!format_type(a.atttypid, a.atttypmod), 'pg_catalog.', '') {||} CASE WHEN o.collname "
    "{=} 'C' THEN ' C' ELSE '' END "
    "FROM !pg_class AS c " OF_SCHEMA "JOIN !pg_attribute AS a ON a.attrelid {=} c.oid "
    "LEFT JOIN !pg_collation AS o ON o.oid {=} a.attcollation "
    "WHERE a.attnum {>} 0 AND NOT a.attisdropped AND c.relkind {=} 'r' "
    "UNION ALL SELECT 'unique', c.relname::!text, (SELECT !string_agg(a.attname::!text, ',' "
    "ORDER BY k.n) FROM !unnest(i.indkey::!int2[]) WITH ORDINALITY AS k (attnum, n) "
    "JOIN !pg_attribute AS a ON a.attrelid {=} c.oid AND a.attnum {=} k.attnum "
    "WHERE k.n {<=} i.indnkeyatts), '' FROM !pg_class AS c " OF_SCHEMA
    "JOIN !pg_index AS i ON i.indrelid {=} c.oid WHERE i.indisunique AND i.indisvalid "
    "AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL "
    "UNION ALL SELECT 'index', c.relname::!text, x.relname::!text, '' FROM !pg_class AS "
    "c " OF_SCHEMA
    "JOIN !pg_index AS i ON i.indrelid {=} c.oid JOIN !pg_class AS x ON x.oid {=} i.indexrelid "
    "UNION ALL SELECT 'right', c.relname::!text, r.name, "
    "!has_table_privilege(c.oid, r.name)::!text FROM !pg_class AS c " OF_SCHEMA
    "CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) AS r (name) "
    "WHERE c.relkind {=} 'r' "
    "UNION ALL SELECT 'right', c.relname::!text, 'USAGE', "
    "!has_sequence_privilege(c.oid, 'USAGE')::!text FROM !pg_class AS c " OF_SCHEMA
    "WHERE c.relkind {=} 'S' "
    "UNION ALL SELECT 'setting', s.name, '', !current_setting(s.name) FROM (VALUES "
    "('server_version'), ('server_encoding'), ('synchronous_commit'), "
    "('default_transaction_isolation'), ('transaction_read_only')) AS s (name) "
    "UNION ALL SELECT 'setting', 'backend_pid', '', !pg_backend_pid()::!text "
    "UNION ALL SELECT 'setting', 'in_recovery', '', !pg_is_in_recovery()::!text "
    ") AS f";

const char *pg_schema_fact(const PGresult *facts, const char *what, const char *name,
                           const char *part)
{
    for (int row = 0; row < PQntuples(facts); row++)
        if (strcmp(pg_row_text(facts, row, "what"), what) == 0 &&
            strcmp(pg_row_text(facts, row, "name"), name) == 0 &&
            strcmp(pg_row_text(facts, row, "part"), part) == 0)
            return pg_row_text(facts, row, "detail");
    return NULL;
}

/* ---- the two compared -------------------------------------------------------------------- */

void pg_schema_find_faults(const PGresult *facts, const char *schema, pg_schema_fault_cb found,
                           void *owner)
{
    struct error err;
    for (size_t i = 0; i < OBJECT_COUNT; i++) {
        const char *kind = pg_schema_fact(facts, "relation", objects[i].name, "");
        if (kind == NULL || kind[0] == objects[i].kind)
            continue;
        error_set(&err, ERROR_CONFIG,
                  "\"%s\".%s is another kind of object (relkind %s) than leaserun's (%c): use "
                  "another schema",
                  schema, objects[i].name, kind, objects[i].kind);
        found(owner, &err);
    }
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        const struct column *c = &columns[i];
        const char *kind = pg_schema_fact(facts, "relation", c->table, "");
        const char *type = pg_schema_fact(facts, "column", c->table, c->name);
        if (kind == NULL || kind[0] != 'r' || (type != NULL && strcmp(type, c->type) == 0))
            continue;
        error_set(&err, ERROR_CONFIG, "\"%s\".%s: the column %s is %s and must be %s", schema,
                  c->table, c->name, type == NULL ? "missing" : type, c->type);
        found(owner, &err);
    }
    for (size_t i = 0; i < sizeof uniquenesses / sizeof uniquenesses[0]; i++) {
        const struct uniqueness *u = &uniquenesses[i];
        const char *kind = pg_schema_fact(facts, "relation", u->table, "");
        if (kind == NULL || kind[0] != 'r' ||
            pg_schema_fact(facts, "unique", u->table, u->columns) != NULL)
            continue;
        error_set(&err, ERROR_CONFIG,
                  "\"%s\".%s has no unique constraint on (%s): without it two claims can both win",
                  schema, u->table, u->columns);
        found(owner, &err);
    }
}

static void add_expanded(struct text *script, const char *template, const char *schema)
{
    char *sql = pg_sql_expand(template, schema);
    text_add(script, sql);
    free(sql);
}

/* A node that stops in the middle keeps neither the lock nor the transaction for long. */
static const char prologue_sql[] = "SET LOCAL lock_timeout = '2s';\n"
                                   "SET LOCAL idle_in_transaction_session_timeout = '10s';\n"
                                   "SELECT !pg_advisory_xact_lock(" PG_OPS_UPKEEP_LOCK ");\n";

static bool is_missing(const PGresult *facts, const char *what, const char *name)
{
    return facts == NULL || pg_schema_fact(facts, what, name, "") == NULL;
}

/* IF NOT EXISTS is for two that create at once; what is there already is not named at all, since
 * even CREATE SCHEMA IF NOT EXISTS asks for the right to create one. */
static bool add_objects(const PGresult *facts, const char *schema, struct text *script)
{
    bool is_anything = is_missing(facts, "schema", schema);
    if (is_anything)
        add_expanded(script, "CREATE SCHEMA IF NOT EXISTS @;\n", schema);
    for (size_t i = 0; i < OBJECT_COUNT; i++) {
        if (!is_missing(facts, "relation", objects[i].name))
            continue;
        add_expanded(script, objects[i].sql, schema);
        is_anything = true;
    }
    return is_anything;
}

bool pg_schema_add_script(const PGresult *facts, const char *schema, struct text *script)
{
    text_add(script, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED;\n");
    add_expanded(script, prologue_sql, schema);
    if (add_objects(facts, schema, script))
        return true;
    text_clear(script);
    return false;
}

static const char grants_sql[] =
    "For the role that leaserun connects as (here app_role), when it is not the owner:\n"
    "\n"
    "GRANT USAGE ON SCHEMA @ TO app_role;\n"
    "GRANT USAGE ON SEQUENCE @fence_seq TO app_role;\n"
    "GRANT SELECT, INSERT, UPDATE, DELETE ON @leases, @runs TO app_role;\n"
    "GRANT SELECT ON @schema_version TO app_role;\n";

/* A schema's name may hold a newline, behind which a comment would be over. */
static void add_comment(struct text *script, const char *lines)
{
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        text_add(script, length == 0 ? "--" : "-- ");
        text_add_bytes(script, lines, length);
        text_add_char(script, '\n');
        lines += length + (lines[length] == '\n');
    }
}

char *pg_schema_print(const char *schema)
{
    struct text script = TEXT_INIT, grants TEXT_AUTODONE = TEXT_INIT;
    text_add(&script, "-- What \"leaserun init\" runs. It creates and never alters: running it "
                      "again changes nothing.\n"
                      "BEGIN ISOLATION LEVEL READ COMMITTED;\n");
    add_expanded(&script, prologue_sql, schema);
    add_objects(NULL, schema, &script);
    text_add(&script, "COMMIT;\n");
    text_add_char(&script, '\n');
    add_expanded(&grants, grants_sql, schema);
    add_comment(&script, text_string(&grants));
    return text_detach(&script);
}
