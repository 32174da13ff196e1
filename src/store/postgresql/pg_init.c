/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "store/postgresql/pg_ops.h"
#include "store/postgresql/pg_schema.h"
#include "store/postgresql/pg_sql.h"
#include "store/postgresql/pg_state.h"

/* Looks in the catalog, then in the tables, and only then, when something is missing, runs one
 * script: a single message, hence one transaction, that takes the advisory lock. A client that is
 * stopped at any instant has sent all of it or none: the server needs it no more to end. */

enum step {
    STEP_FACTS,
    STEP_STATE,  /* passed over when there is no table of versions yet */
    STEP_SCRIPT, /* passed over when nothing is missing */
};

static bool is_complete(const struct pg_task *task)
{
    return task->script.length == 0;
}

void pg_init_build(struct pg_task *task, struct pg_statement *statement)
{
    switch ((enum step)task->step) {
    case STEP_FACTS:
        statement->sql = pg_sql_expand(pg_facts_sql, task->schema);
        pg_statement_add(statement, mem_strdup(task->schema));
        break;
    case STEP_STATE:
        statement->sql =
            pg_sql_expand(is_complete(task) ? pg_state_sql : pg_state_version_sql, task->schema);
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
    struct error fault = {.kind = ERROR_NONE};
    pg_schema_find_faults(facts, task->schema, keep_first, &fault);
    if (fault.kind != ERROR_NONE) {
        *err = fault;
        return PG_NEXT_FAILED;
    }
    pg_schema_add_script(facts, task->schema, &task->script);
    if (!is_complete(task) && pg_facts_find(facts, "relation", "schema_version", "") == NULL)
        task->step = STEP_STATE; /* none to read */
    return PG_NEXT_STEP;
}

static enum pg_next read_state(struct pg_task *task, const PGresult *result, struct error *err)
{
    struct error fault = {.kind = ERROR_NONE};
    pg_state_find_faults(result, task->schema, keep_first, &fault);
    if (fault.kind != ERROR_NONE) {
        *err = fault;
        return PG_NEXT_FAILED;
    }
    return is_complete(task) ? PG_NEXT_DONE : PG_NEXT_STEP;
}

enum pg_next pg_init_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    switch ((enum step)task->step) {
    case STEP_FACTS:
        return read_facts(task, result, err);
    case STEP_STATE:
        task->request->u.init.is_created = false;
        return read_state(task, result, err);
    case STEP_SCRIPT:
        task->request->u.init.is_created = true;
        break;
    }
    return PG_NEXT_DONE;
}
