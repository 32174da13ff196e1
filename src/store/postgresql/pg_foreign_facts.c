/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_foreign_facts.h"

#include "base/mem.h"
#include "store/postgresql/pg_row.h"
#include "store/postgresql/pg_sql.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* $1, $2: the table's schema and name; $3: our schema.
 *
 *   relation  ""      pg_class.relkind
 *   column    column  its type; number: its typmod
 *   needed    column  it must have a value, and has no default
 *   lacks     column  a right that this role has not
 *   unique    column  it alone is unique, for every statement to rely on
 *   hidden    ""      row security hides rows from this role
 *   trigger   name
 *   closed    ""      this role may not use the table's schema
 *   own       name    what there is in our schema; "" for the schema itself
 *   setting   name    its value */
static const char facts_sql[] =
    "WITH rel AS MATERIALIZED (SELECT c.oid, c.relkind::!text AS kind, n.oid AS space "
    "FROM !pg_class AS c JOIN !pg_namespace AS n ON n.oid {=} c.relnamespace "
    "WHERE n.nspname {=} $1::!text AND c.relname {=} $2::!text)"
    ", col AS MATERIALIZED (SELECT rel.oid, a.attnum, a.attname, a.atttypid, "
    "a.atttypmod, a.attnotnull, a.atthasdef, a.attidentity FROM rel "
    "JOIN !pg_attribute AS a ON a.attrelid {=} rel.oid "
    "WHERE a.attnum {>} 0::!int2 AND NOT a.attisdropped)"
    " SELECT f.what, f.name, f.detail, f.number, #server FROM ("
    "SELECT 'relation' AS what, '' AS name, rel.kind AS detail, 0::!int4 AS number FROM rel "
    "UNION ALL SELECT 'column', col.attname::!text, "
    "!replace(!format_type(col.atttypid, NULL), 'pg_catalog.', ''), col.atttypmod FROM col "
    "UNION ALL SELECT 'needed', col.attname::!text, '', 0 FROM col WHERE col.attnotnull "
    "AND NOT col.atthasdef AND col.attidentity {=} '' "
    "UNION ALL SELECT 'lacks', col.attname::!text, r.name, 0 FROM col "
    "CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE')) AS r (name) "
    "WHERE NOT !has_column_privilege(col.oid, col.attnum, r.name) "
    "UNION ALL SELECT 'unique', col.attname::!text, '', 0 FROM col "
    "JOIN !pg_index AS i ON i.indrelid {=} col.oid AND i.indkey[0] {=} col.attnum "
    "WHERE i.indisunique AND i.indisvalid AND i.indimmediate AND i.indnkeyatts {=} 1::!int2 "
    "AND i.indpred IS NULL AND i.indexprs IS NULL "
    "UNION ALL SELECT 'hidden', '', '', 0 FROM rel WHERE !row_security_active(rel.oid) "
    "UNION ALL SELECT 'trigger', t.tgname::!text, '', 0 FROM rel "
    "JOIN !pg_trigger AS t ON t.tgrelid {=} rel.oid WHERE NOT t.tgisinternal "
    "UNION ALL SELECT 'closed', '', '', 0 FROM rel "
    "WHERE NOT !has_schema_privilege(rel.space, 'USAGE') "
    "UNION ALL SELECT 'own', '', '', 0 FROM !pg_namespace AS n WHERE n.nspname {=} $3::!text "
    "UNION ALL SELECT 'own', c.relname::!text, '', 0 FROM !pg_class AS c "
    "JOIN !pg_namespace AS n ON n.oid {=} c.relnamespace WHERE n.nspname {=} $3::!text "
    "UNION ALL SELECT 'setting', s.name, !current_setting(s.name), 0 FROM (VALUES "
    "('server_version'), ('transaction_read_only')) AS s (name)) AS f";

void pg_foreign_facts_build(const struct pg_foreign *foreign, const char *schema,
                            struct pg_statement *statement)
{
    statement->sql = pg_sql_expand(facts_sql, schema);
    pg_statement_add(statement, mem_strdup(foreign->table.schema));
    pg_statement_add(statement, mem_strdup(foreign->table.name));
    pg_statement_add(statement, mem_strdup(schema));
}

/* The row's number, -1 when there is none. name NULL: any; the search begins after a row. */
static int find_after(const PGresult *facts, int after, const char *what, const char *name)
{
    for (int row = after + 1; row < PQntuples(facts); row++)
        if (strcmp(pg_row_text(facts, row, "what"), what) == 0 &&
            (name == NULL || strcmp(pg_row_text(facts, row, "name"), name) == 0))
            return row;
    return -1;
}

static int find(const PGresult *facts, const char *what, const char *name)
{
    return find_after(facts, -1, what, name);
}

const char *pg_foreign_facts_version(const PGresult *facts)
{
    int row = find(facts, "setting", "server_version");
    return row < 0 ? "" : pg_row_text(facts, row, "detail");
}

bool pg_foreign_facts_has_schema(const PGresult *facts)
{
    return find(facts, "own", "") >= 0;
}

/* ---- faults ------------------------------------------------------------------------------ */

struct reading {
    struct pg_foreign *foreign;
    const PGresult *facts;
    pg_foreign_fault_cb fault;
    void *owner;
    int fault_count;
};

static void tell(struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void tell(struct reading *reading, const char *format, ...)
{
    struct error err;
    char text[sizeof err.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_set(&err, ERROR_CONFIG, "%s", text);
    reading->fault_count++;
    reading->fault(reading->owner, &err);
}

#define TYPMOD_HEADER 4 /* of varchar(n): n and this */

static bool take_text(const char *type, int typmod, struct pg_foreign_column *ret_column)
{
    bool is_varying = strcmp(type, "character varying") == 0;
    ret_column->chars = is_varying && typmod >= 0 ? typmod - TYPMOD_HEADER : 0;
    return is_varying || strcmp(type, "text") == 0;
}

static bool take_instant(const char *type, int typmod, struct pg_foreign_column *ret_column)
{
    ret_column->has_zone = strcmp(type, "timestamp with time zone") == 0;
    ret_column->digits = typmod < 0 || typmod > 6 ? 6 : typmod;
    return ret_column->has_zone || strcmp(type, "timestamp without time zone") == 0;
}

static void read_column(struct reading *reading, enum store_column column)
{
    const char *name = reading->foreign->table.columns[column];
    bool is_text = column == STORE_COLUMN_KEY || column == STORE_COLUMN_HOLDER;
    int row = find(reading->facts, "column", name);
    if (row < 0) {
        tell(reading, "%s has no column \"%s\" for %s: name its column with columns",
             reading->foreign->shown, name, store_column_name(column));
        return;
    }
    const char *type = pg_row_text(reading->facts, row, "detail");
    int typmod = (int)pg_row_int64(reading->facts, row, "number", -1);
    struct pg_foreign_column *read = &reading->foreign->columns[column];
    if (!(is_text ? take_text(type, typmod, read) : take_instant(type, typmod, read)))
        tell(reading, "%s: the column \"%s\" is %s, and %s must be %s", reading->foreign->shown,
             name, type, store_column_name(column),
             is_text ? "text or character varying" : "a timestamp with or without time zone");
    for (row = -1; (row = find_after(reading->facts, row, "lacks", name)) >= 0;)
        tell(reading,
             "this role lacks the right %s on the column \"%s\" of %s: it needs SELECT, "
             "INSERT and UPDATE on the table",
             pg_row_text(reading->facts, row, "detail"), name, reading->foreign->shown);
}

static bool is_ours(const struct pg_foreign *foreign, const char *column)
{
    for (int c = 0; c < STORE_COLUMN_COUNT; c++)
        if (strcmp(foreign->table.columns[c], column) == 0)
            return true;
    return false;
}

static void read_other_columns(struct reading *reading)
{
    for (int row = -1; (row = find_after(reading->facts, row, "needed", NULL)) >= 0;) {
        const char *name = pg_row_text(reading->facts, row, "name");
        if (!is_ours(reading->foreign, name))
            tell(reading,
                 "%s: the column \"%s\" must have a value and has no default, so that no "
                 "key can be added",
                 reading->foreign->shown, name);
    }
}

static void read_table(struct reading *reading)
{
    const struct pg_foreign *foreign = reading->foreign;
    const char *key = foreign->table.columns[STORE_COLUMN_KEY];
    if (find(reading->facts, "closed", "") >= 0)
        tell(reading, "this role may not use the schema \"%s\": it needs USAGE",
             foreign->table.schema);
    for (int c = 0; c < STORE_COLUMN_COUNT; c++)
        read_column(reading, (enum store_column)c);
    read_other_columns(reading);
    if (find(reading->facts, "column", key) >= 0 && find(reading->facts, "unique", key) < 0)
        tell(reading,
             "%s has no unique constraint on (\"%s\") alone: without it two claims can "
             "both win",
             foreign->shown, key);
    int chars = foreign->columns[STORE_COLUMN_HOLDER].chars;
    if (chars > 0 && chars <= PG_FOREIGN_RANDOM_LEAST)
        tell(reading,
             "%s: the column \"%s\" takes %d characters, and a holder that is never the "
             "same twice needs %d",
             foreign->shown, foreign->table.columns[STORE_COLUMN_HOLDER], chars,
             PG_FOREIGN_RANDOM_LEAST + 1);
    if (find(reading->facts, "hidden", "") >= 0)
        tell(reading, "row security hides rows of %s from this role: it must see the leases of all",
             foreign->shown);
}

static bool is_table(const char *kind)
{
    return strcmp(kind, "r") == 0 || strcmp(kind, "p") == 0;
}

void pg_foreign_facts_read(struct pg_foreign *foreign, const char *schema, const PGresult *facts,
                           pg_foreign_fault_cb fault, void *owner)
{
    struct reading reading = {.foreign = foreign, .facts = facts, .fault = fault, .owner = owner};
    int relation = find(facts, "relation", "");
    if (relation < 0)
        tell(&reading,
             "there is no table %s in this database: the program whose table it is "
             "creates it, leaserun does not",
             foreign->shown);
    else if (!is_table(pg_row_text(facts, relation, "detail")))
        tell(&reading, "%s is no table (relkind %s)", foreign->shown,
             pg_row_text(facts, relation, "detail"));
    else
        read_table(&reading);
    foreign->is_joined = find(facts, "own", "leases") >= 0;
    if (reading.fault_count == 0)
        pg_foreign_settle(foreign, schema);
    else
        pg_foreign_forget(foreign);
}

/* ---- notes ------------------------------------------------------------------------------- */

static char *note_own(const struct pg_foreign *foreign, const char *schema)
{
    if (foreign->is_joined)
        return mem_printf("runs, slots and fences live in the schema \"%s\", the leases in %s",
                          schema, foreign->shown);
    return mem_printf("there is no schema \"%s\" here: no history, no fence (LEASERUN_FENCE is not "
                      "set), no --once, --once-per and slots; \"leaserun init\" creates it",
                      schema);
}

static char *note_zone(const struct pg_foreign *foreign)
{
    const struct pg_foreign_column *expires = &foreign->columns[STORE_COLUMN_EXPIRES_AT];
    const char *name = foreign->table.columns[STORE_COLUMN_EXPIRES_AT];
    if (!expires->has_zone)
        return mem_printf("\"%s\" is a timestamp without time zone, taken as UTC: the other "
                          "programs must write UTC too",
                          name);
    if (foreign->table.dialect == DIALECT_SHEDLOCK)
        return mem_printf("\"%s\" is a timestamp with time zone, into which ShedLock writes UTC "
                          "only from sessions whose TimeZone is UTC",
                          name);
    return NULL;
}

static char *note_length(const struct pg_foreign *foreign)
{
    int chars = foreign->columns[STORE_COLUMN_KEY].chars;
    return chars == 0 ? NULL : mem_printf("keys have %d characters at most there", chars);
}

static char *note_triggers(const PGresult *facts)
{
    int row = find(facts, "trigger", NULL);
    return row < 0 ? NULL
                   : mem_printf("the trigger \"%s\" is run for claims and renewals too",
                                pg_row_text(facts, row, "name"));
}

char *pg_foreign_facts_note(const struct pg_foreign *foreign, const char *schema,
                            const PGresult *facts, int number)
{
    char *notes[] = {note_own(foreign, schema), note_zone(foreign), note_length(foreign),
                     note_triggers(facts)};
    char *wanted = NULL;
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        if (notes[i] != NULL && number-- == 0)
            wanted = notes[i];
        else
            free(notes[i]);
    }
    return wanted;
}
