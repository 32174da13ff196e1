/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "store/postgresql/pg_ops.h"
#include "store/postgresql/pg_row.h"
#include "store/postgresql/pg_schema.h"
#include "store/postgresql/pg_sql.h"

#include <inttypes.h>

/* Looks in the catalog, then at the version, and only then, when something is missing, runs one
 * script: a single message, hence one transaction, that takes the advisory lock. */

enum step {
    STEP_FACTS,
    STEP_VERSION, /* passed over when there is no table of versions yet */
    STEP_SCRIPT,  /* passed over when nothing is missing */
};

static const char version_sql[] =
    "SELECT version, oldest_reader, #server FROM @schema_version ORDER BY version DESC LIMIT 1";

void pg_init_build(struct pg_task *task, struct pg_statement *statement)
{
    switch ((enum step)task->step) {
    case STEP_FACTS:
        statement->sql = pg_sql_expand(pg_schema_facts_sql, task->schema);
        pg_statement_add(statement, mem_strdup(task->schema));
        break;
    case STEP_VERSION:
        statement->sql = pg_sql_expand(version_sql, task->schema);
        break;
    case STEP_SCRIPT:
        statement->sql = text_detach(&task->script);
        statement->is_script = true;
        break;
    }
}

static void keep_first(void *owner, const struct error *fault)
{
    struct error *err = owner;
    if (err->kind == ERROR_NONE)
        *err = *fault;
}

static enum pg_next read_facts(struct pg_task *task, const PGresult *facts, struct error *err)
{
    struct error fault = {0};
    pg_schema_find_faults(facts, task->schema, keep_first, &fault);
    if (fault.kind != ERROR_NONE) {
        *err = fault;
        return PG_NEXT_FAILED;
    }
    bool is_missing = pg_schema_add_script(facts, task->schema, &task->script);
    if (pg_schema_fact(facts, "relation", "schema_version", "") == NULL && is_missing)
        task->step = STEP_VERSION; /* none to read */
    return PG_NEXT_STEP;
}

static enum pg_next read_version(struct pg_task *task, const PGresult *result, struct error *err)
{
    int64_t oldest_reader = pg_row_int64(result, 0, "oldest_reader", 0);
    if (oldest_reader > PG_SCHEMA_VERSION) {
        error_set(err, ERROR_CONFIG,
                  "the schema \"%s\" is for newer programs (its oldest reader is version %" PRId64
                  ", this one is %d): install a newer leaserun",
                  task->schema, oldest_reader, PG_SCHEMA_VERSION);
        return PG_NEXT_FAILED;
    }
    return task->script.length > 0 ? PG_NEXT_STEP : PG_NEXT_DONE;
}

enum pg_next pg_init_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    switch ((enum step)task->step) {
    case STEP_FACTS:
        return read_facts(task, result, err);
    case STEP_VERSION:
        task->request->u.init.is_created = false;
        return read_version(task, result, err);
    case STEP_SCRIPT:
        task->request->u.init.is_created = true;
        break;
    }
    return PG_NEXT_DONE;
}
