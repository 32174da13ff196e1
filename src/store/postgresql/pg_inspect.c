/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "store/inspection.h"
#include "store/postgresql/pg_ops.h"
#include "store/postgresql/pg_rights.h"
#include "store/postgresql/pg_row.h"
#include "store/postgresql/pg_schema.h"
#include "store/postgresql/pg_sql.h"
#include "store/postgresql/pg_state.h"

#include <stdlib.h>
#include <string.h>

/* What a person should know before they trust this store: from the catalog (step 0), and when
 * everything is there and may be read, from the tables (step 1). */

void pg_inspect_build(struct pg_task *task, struct pg_statement *statement)
{
    if (task->step == 0) {
        statement->sql = pg_sql_expand(pg_facts_sql, task->schema);
        pg_statement_add(statement, mem_strdup(task->schema));
    } else {
        statement->sql = pg_sql_expand(pg_state_sql, task->schema);
    }
}

/* ---- from the catalog -------------------------------------------------------------------- */

static const char *setting(const PGresult *facts, const char *name)
{
    const char *value = pg_facts_find(facts, "setting", name, "");
    return value == NULL ? "" : value;
}

/* Missing objects come as one fault: init makes them all. */
static bool find_missing(const PGresult *facts, const char *schema, struct inspection *inspection)
{
    struct error err;
    struct text ignored TEXT_AUTODONE = TEXT_INIT;
    if (!pg_schema_add_script(facts, schema, &ignored))
        return false;
    if (pg_facts_find(facts, "schema", schema, "") == NULL)
        error_set(&err, ERROR_CONFIG,
                  "the schema \"%s\" does not exist in this database: create it with \"leaserun "
                  "init\"",
                  schema);
    else
        error_set(&err, ERROR_CONFIG,
                  "the schema \"%s\" is not complete: create what is missing with \"leaserun "
                  "init\"",
                  schema);
    inspection_add_fault(inspection, &err);
    return true;
}

static void check_server(const PGresult *facts, struct inspection *inspection)
{
    struct error err;
    if (strcmp(setting(facts, "in_recovery"), "true") == 0)
        error_set(&err, ERROR_STORE, "the server is a standby: it takes no claims");
    else if (strcmp(setting(facts, "transaction_read_only"), "on") == 0)
        error_set(&err, ERROR_STORE,
                  "transactions are read-only here (default_transaction_read_only is on): the "
                  "server takes no claims");
    else
        return;
    inspection_add_fault(inspection, &err);
}

static bool is_weak_commit(const char *value)
{
    return strcmp(value, "off") == 0 || strcmp(value, "local") == 0 ||
           strcmp(value, "remote_write") == 0;
}

static void note_settings(const struct pg_task *task, const PGresult *facts,
                          struct inspection *inspection)
{
    const char *commit = setting(facts, "synchronous_commit");
    const char *isolation = setting(facts, "default_transaction_isolation");
    const char *encoding = setting(facts, "server_encoding");
    if (is_weak_commit(commit))
        inspection_add_note(inspection,
                            mem_printf("synchronous_commit is %s by default; leaserun raises it "
                                       "to on for each of its statements",
                                       commit));
    if (strcmp(isolation, "read committed") != 0)
        inspection_add_note(inspection,
                            mem_printf("default_transaction_isolation is \"%s\": claims that meet "
                                       "are retried more often than at read committed",
                                       isolation));
    if (strcmp(encoding, "UTF8") != 0)
        inspection_add_note(inspection,
                            mem_printf("the database's encoding is %s: keys outside ASCII may be "
                                       "refused",
                                       encoding));
    if (strtol(setting(facts, "backend_pid"), NULL, 10) != PQbackendPID(task->conn))
        inspection_add_note(inspection,
                            mem_strdup("a connection pooler stands before the server: keep a "
                                       "connection free for renewals in its pool"));
}

static void note_indexes(const PGresult *facts, struct inspection *inspection)
{
    for (int row = 0; row < PQntuples(facts); row++) {
        const char *index = pg_row_text(facts, row, "part");
        if (strcmp(pg_row_text(facts, row, "what"), "index") == 0 &&
            strcmp(pg_row_text(facts, row, "name"), "leases") == 0 &&
            strcmp(index, "leases_pkey") != 0)
            inspection_add_note(inspection,
                                mem_printf("the index %s on leases makes every renewal write "
                                           "about twice as much: drop it unless it is needed",
                                           index));
    }
}

static enum pg_next read_facts(struct pg_task *task, const PGresult *facts)
{
    struct inspection *inspection = &task->request->u.inspection;
    int libpq = PQlibVersion();
    inspection->description =
        mem_printf("PostgreSQL %s (libpq %d.%d), schema %s", setting(facts, "server_version"),
                   libpq / 10000, libpq % 10000, task->schema);
    check_server(facts, inspection);
    note_settings(task, facts, inspection);
    note_indexes(facts, inspection);
    if (!find_missing(facts, task->schema, inspection))
        pg_rights_find_faults(facts, task->schema, inspection_add_fault, inspection);
    pg_schema_find_faults(facts, task->schema, inspection_add_fault, inspection);
    return inspection->fault_count == 0 ? PG_NEXT_STEP : PG_NEXT_DONE;
}

/* ---- from the tables --------------------------------------------------------------------- */

static enum pg_next read_state(struct pg_task *task, const PGresult *result)
{
    pg_state_find_faults(result, task->schema, inspection_add_fault, &task->request->u.inspection);
    return PG_NEXT_DONE;
}

enum pg_next pg_inspect_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    return task->step == 0 ? read_facts(task, result) : read_state(task, result);
}
