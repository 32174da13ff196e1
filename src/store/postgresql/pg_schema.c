/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_schema.h"

#include "store/postgresql/pg_functions.h"
#include "store/postgresql/pg_ops.h"
#include "store/postgresql/pg_rights.h"
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
 * lock. An update is logged from the first byte that it changes to the last: what changes together
 * stands together, what hardly ever changes at the end. runs has room for the end of each run in
 * the page of its beginning: without, its indexes would get a second entry. */
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
               "    slot !timestamptz,\n"
               "    acquired_at !timestamptz NOT NULL,\n"
               "    not_before !timestamptz,\n"
               "    expires_at !timestamptz NOT NULL,\n"
               "    released !bool NOT NULL,\n"
               "    revoked !bool NOT NULL,\n"
               "    waited !bool NOT NULL DEFAULT false,\n"
               "    attempt !int4 NOT NULL,\n"
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
               "    starts !int4,\n"
               "    output_tail !bytea\n"
               ") WITH (fillfactor = 50);\n",
    },
    {
        .name = "runs_key_slot_key", /* a run without slot costs no entry */
        .kind = 'i',
        .sql = "CREATE UNIQUE INDEX IF NOT EXISTS runs_key_slot_key ON @runs (key, slot)\n"
               "    WHERE slot IS NOT NULL;\n",
    },
    {
        .name = "runs_once", /* holds the few runs that succeed once */
        .kind = 'i',
        .sql = "CREATE INDEX IF NOT EXISTS runs_once ON @runs (key) WHERE is_once;\n",
    },
    {
        .name = "steps",
        .kind = 'r',
        .sql = "CREATE TABLE IF NOT EXISTS @steps (\n"
               "    run_id !text COLLATE !\"C\" NOT NULL,\n"
               "    seq !int8 NOT NULL,\n"
               "    name !text COLLATE !\"C\" NOT NULL,\n"
               "    state !text COLLATE !\"C\" NOT NULL,\n"
               "    command_hash !text COLLATE !\"C\" NOT NULL,\n"
               "    call_nonce !text COLLATE !\"C\" NOT NULL,\n"
               "    fence !int8 NOT NULL,\n"
               "    attempts !int4 NOT NULL,\n"
               "    status !int4,\n"
               "    data !bytea,\n"
               "    started_at !timestamptz NOT NULL,\n"
               "    finished_at !timestamptz,\n"
               "    PRIMARY KEY (run_id, seq),\n"
               "    UNIQUE (run_id, name)\n"
               ");\n",
    },
    {
        .name = "fences", /* the highest fence that wrote, by key: require_fence_v1's memory */
        .kind = 'r',
        .sql = "CREATE TABLE IF NOT EXISTS @fences (\n"
               "    key !text COLLATE !\"C\" PRIMARY KEY,\n"
               "    fence !int8 NOT NULL,\n"
               "    seen_at !timestamptz NOT NULL\n"
               ") WITH (fillfactor = 50);\n",
    },
    {
        .name = "schema_version",
        .kind = 'r',
        .sql = "CREATE TABLE IF NOT EXISTS @schema_version (\n"
               "    version !int4 PRIMARY KEY,\n"
               "    oldest_reader !int4 NOT NULL\n"
               ");\n"
               "INSERT INTO @schema_version (version, oldest_reader) VALUES (" PG_SCHEMA_VERSION_SQL
               ", 1)\n"
               "    ON CONFLICT (version) DO NOTHING;\n",
    },
};
#define OBJECT_COUNT (sizeof objects / sizeof objects[0])

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
    {"leases", "waited", "boolean"},
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
    {"runs", "starts", "integer"},
    {"runs", "output_tail", "bytea"},
    {"steps", "run_id", "text C"},
    {"steps", "seq", "bigint"},
    {"steps", "name", "text C"},
    {"steps", "state", "text C"},
    {"steps", "command_hash", "text C"},
    {"steps", "call_nonce", "text C"},
    {"steps", "fence", "bigint"},
    {"steps", "attempts", "integer"},
    {"steps", "status", "integer"},
    {"steps", "data", "bytea"},
    {"steps", "started_at", "timestamp with time zone"},
    {"steps", "finished_at", "timestamp with time zone"},
    {"fences", "key", "text C"},
    {"fences", "fence", "bigint"},
    {"fences", "seen_at", "timestamp with time zone"},
    {"schema_version", "version", "integer"},
    {"schema_version", "oldest_reader", "integer"},
};

struct uniqueness {
    const char *table;
    const char *columns;
    const char *why;   /* what could happen twice without it */
    const char *index; /* of objects[], so that it is made when it is missing; NULL: none */
};

static const struct uniqueness uniquenesses[] = {
    {"leases", "key", "two claims can both win", NULL},
    {"runs", "run_id", "a run can be recorded twice", NULL},
    {"runs", "key,slot", "a slot can start twice", "runs_key_slot_key"},
    {"steps", "run_id,seq", "two steps can have one position", NULL},
    {"steps", "run_id,name", "a step can be done twice", NULL},
    {"fences", "key", "two writers of a key can pass at once", NULL},
};

/* ---- the two compared -------------------------------------------------------------------- */

static bool is_table(const PGresult *facts, const char *name)
{
    const char *kind = pg_facts_find(facts, "relation", name, "");
    return kind != NULL && (kind[0] == 'r' || kind[0] == 'p');
}

static void check_object(const PGresult *facts, const char *schema, const struct object *object,
                         struct error *ret_fault)
{
    const char *kind = pg_facts_find(facts, "relation", object->name, "");
    bool is_right = kind == NULL || kind[0] == object->kind ||
                    (object->kind == 'r' && is_table(facts, object->name));
    if (!is_right)
        error_set(ret_fault, ERROR_CONFIG,
                  "\"%s\".%s is another kind of object (relkind %s) than leaserun's (%c): use "
                  "another schema (\"leaserun init --schema NAME\")",
                  schema, object->name, kind, object->kind);
}

static void check_column(const PGresult *facts, const char *schema, const struct column *column,
                         struct error *ret_fault)
{
    const char *type = pg_facts_find(facts, "column", column->table, column->name);
    if (!is_table(facts, column->table) || (type != NULL && strcmp(type, column->type) == 0))
        return;
    error_set(ret_fault, ERROR_CONFIG,
              "\"%s\".%s: the column %s is %s and must be %s: another program's table, or an "
              "altered one; put it right, or use another schema",
              schema, column->table, column->name, type == NULL ? "missing" : type, column->type);
}

static void check_uniqueness(const PGresult *facts, const char *schema,
                             const struct uniqueness *uniqueness, struct error *ret_fault)
{
    bool is_to_be_made = uniqueness->index != NULL &&
                         pg_facts_find(facts, "relation", uniqueness->index, "") == NULL;
    if (!is_table(facts, uniqueness->table) || is_to_be_made ||
        pg_facts_find(facts, "unique", uniqueness->table, uniqueness->columns) != NULL)
        return;
    error_set(ret_fault, ERROR_CONFIG,
              "\"%s\".%s has no unique constraint on (%s), without which %s: add it (ALTER TABLE "
              "... ADD UNIQUE)",
              schema, uniqueness->table, uniqueness->columns, uniqueness->why);
}

static void tell(struct error *fault, pg_fault_cb found, void *owner)
{
    if (fault->kind != ERROR_NONE)
        found(owner, fault);
    fault->kind = ERROR_NONE;
}

void pg_schema_find_faults(const PGresult *facts, const char *schema, pg_fault_cb found,
                           void *owner)
{
    struct error fault = {.kind = ERROR_NONE};
    for (size_t i = 0; i < OBJECT_COUNT; i++) {
        check_object(facts, schema, &objects[i], &fault);
        tell(&fault, found, owner);
    }
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        check_column(facts, schema, &columns[i], &fault);
        tell(&fault, found, owner);
    }
    for (size_t i = 0; i < sizeof uniquenesses / sizeof uniquenesses[0]; i++) {
        check_uniqueness(facts, schema, &uniquenesses[i], &fault);
        tell(&fault, found, owner);
    }
    pg_functions_find_faults(facts, schema, found, owner);
}

/* ---- creating ---------------------------------------------------------------------------- */

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
    return facts == NULL || pg_facts_find(facts, what, name, "") == NULL;
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
    for (const struct pg_function *f = pg_functions; f->name != NULL; f++) {
        if (!pg_functions_is_missing(facts, f))
            continue;
        pg_functions_add_sql(f, schema, script);
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

char *pg_schema_print(const char *schema)
{
    struct text script = TEXT_INIT;
    text_add(&script, "-- What \"leaserun init\" runs. It creates and never alters: running it "
                      "again changes nothing.\n"
                      "BEGIN ISOLATION LEVEL READ COMMITTED;\n");
    add_expanded(&script, prologue_sql, schema);
    add_objects(NULL, schema, &script);
    text_add(&script, "COMMIT;\n");
    text_add_char(&script, '\n');
    pg_rights_add_grants(schema, &script);
    return text_detach(&script);
}
