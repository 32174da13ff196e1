/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_foreign_ops.h"

#include "store/postgresql/pg_foreign_facts.h"
#include "store/postgresql/pg_foreign_refuse.h"
#include "store/postgresql/pg_sql.h"

#include <stdlib.h>
#include <string.h>

/* ---- building ---------------------------------------------------------------------------- */

static void build_table(struct pg_task *task, struct pg_statement *statement)
{
    switch (task->request->kind) {
    case STORE_CLAIM:
        pg_foreign_claim_build(task, statement);
        break;
    case STORE_RENEW:
        pg_foreign_renew_build(task, statement);
        break;
    case STORE_REVOKE:
        pg_foreign_revoke_build(task, statement);
        break;
    case STORE_STATUS:
        pg_foreign_status_build(task, statement);
        break;
    default:
        pg_foreign_release_build(task, statement);
        break;
    }
}

static void build_own(struct pg_task *task, struct pg_statement *statement)
{
    struct pg_task *own = &task->work->own;
    own->schema = task->schema;
    own->server = task->server;
    own->conn = task->conn;
    own->limit_ms = task->limit_ms;
    pg_ops[own->request->kind].build(own, statement);
}

static void build(struct pg_task *task, struct pg_statement *statement)
{
    switch (task->work->phase) {
    case PG_FOREIGN_FACTS:
        pg_foreign_facts_build(task->foreign, task->schema, statement);
        break;
    case PG_FOREIGN_LOOK:
        pg_foreign_look_build(task, statement);
        break;
    case PG_FOREIGN_TABLE:
        build_table(task, statement);
        break;
    case PG_FOREIGN_OWN:
    case PG_FOREIGN_SKIP:
    case PG_FOREIGN_UNDO:
        build_own(task, statement);
        break;
    case PG_FOREIGN_START:
    case PG_FOREIGN_END: /* there is nothing to ask, and an answer is due */
        statement->sql = pg_sql_expand("SELECT #server", task->schema);
        break;
    }
}

/* ---- reading ----------------------------------------------------------------------------- */

static void keep_first(void *owner, const struct error *fault)
{
    struct error *err = owner;
    if (err->kind == ERROR_NONE)
        *err = *fault;
}

static enum pg_next read_facts(struct pg_task *task, const PGresult *facts, struct error *err)
{
    if (task->request->kind == STORE_INSPECT) {
        pg_foreign_inspect_begin(task, facts);
        return PG_NEXT_DONE;
    }
    struct error fault = {0};
    pg_foreign_facts_read(task->foreign, task->schema, facts, keep_first, &fault);
    if (fault.kind == ERROR_NONE && pg_foreign_refuse_check(task, &fault))
        return PG_NEXT_DONE;
    *err = fault;
    return PG_NEXT_FAILED;
}

/* Left are those that our own tables have given. */
static void settle_own_claims(struct pg_foreign_work *work)
{
    size_t left = 0;
    for (size_t i = 0; i < work->claim_count; i++) {
        *work->claims[i] = work->own_claims[i];
        if (work->claims[i]->verdict == CLAIM_WON)
            work->claims[left++] = work->claims[i];
    }
    work->claim_count = left;
}

static void settle_own(struct pg_task *task)
{
    struct revoke *revoke = &task->request->u.revoke;
    if (task->request->kind == STORE_CLAIM)
        settle_own_claims(task->work);
    else if (task->request->kind == STORE_REVOKE && revoke->verdict == REVOKE_UNKNOWN)
        revoke->verdict = task->work->table_verdict;
}

static void settle_skipped(struct pg_foreign_work *work)
{
    for (size_t i = 0; i < work->claim_count; i++) {
        struct claim_item *item = work->claims[i];
        if (!item->is_skipping)
            continue;
        item->verdict = CLAIM_SKIPPED;
        item->is_first_to_tell = true;
    }
}

static enum pg_next read_own(struct pg_task *task, const PGresult *result, struct error *err)
{
    struct pg_task *own = &task->work->own;
    enum pg_next next = pg_ops[own->request->kind].read(own, result, err);
    if (next == PG_NEXT_STEP)
        own->step++;
    if (next != PG_NEXT_DONE)
        return next;
    if (task->work->phase == PG_FOREIGN_OWN)
        settle_own(task);
    else if (task->work->phase == PG_FOREIGN_SKIP)
        settle_skipped(task->work);
    return PG_NEXT_DONE;
}

static enum pg_next read_table(struct pg_task *task, const PGresult *result, struct error *err)
{
    switch (task->request->kind) {
    case STORE_CLAIM:
        return pg_foreign_claim_read(task, result, err);
    case STORE_RENEW:
        return pg_foreign_renew_read(task, result, err);
    case STORE_REVOKE:
        return pg_foreign_revoke_read(task, result, err);
    case STORE_STATUS:
        return pg_foreign_status_read(task, result, err);
    default:
        return pg_foreign_release_read(task, result, err);
    }
}

static enum pg_next read_phase(struct pg_task *task, const PGresult *result, struct error *err)
{
    switch (task->work->phase) {
    case PG_FOREIGN_FACTS:
        return read_facts(task, result, err);
    case PG_FOREIGN_LOOK:
        return pg_foreign_look_read(task, result, err);
    case PG_FOREIGN_TABLE:
        return read_table(task, result, err);
    case PG_FOREIGN_OWN:
    case PG_FOREIGN_SKIP:
    case PG_FOREIGN_UNDO:
        return read_own(task, result, err);
    case PG_FOREIGN_START:
    case PG_FOREIGN_END:
        break;
    }
    return PG_NEXT_DONE;
}

static enum pg_next read_answer(struct pg_task *task, const PGresult *result, struct error *err)
{
    enum pg_next next = read_phase(task, result, err);
    return next == PG_NEXT_DONE && task->work->phase != PG_FOREIGN_END ? pg_foreign_phase_next(task)
                                                                       : next;
}

/* ---- the row ----------------------------------------------------------------------------- */

static bool check(struct pg_task *task, struct error *err)
{
    if (task->work == NULL)
        pg_foreign_phase_begin(task);
    return pg_foreign_refuse_check(task, err);
}

const struct pg_task *pg_foreign_own_task(const struct pg_task *task)
{
    return pg_foreign_phase_is_own(task->work->phase) ? &task->work->own : NULL;
}

static bool is_about_schema(const char *sqlstate)
{
    return strncmp(sqlstate, "42", 2) == 0 || strncmp(sqlstate, "3F", 2) == 0;
}

static bool take_other_way(struct pg_task *task, const char *sqlstate)
{
    struct pg_foreign_work *work = task->work;
    if (pg_foreign_phase_is_own(work->phase)) {
        const struct pg_op *op = &pg_ops[work->own.request->kind];
        if (op->take_other_way != NULL && op->take_other_way(&work->own, sqlstate))
            return work->own.step++, true;
    } else if (task->request->kind == STORE_RENEW && !work->is_skipping_locked &&
               strcmp(sqlstate, "55P03") == 0) {
        return work->is_skipping_locked = true;
    }
    if (is_about_schema(sqlstate))
        pg_foreign_forget(task->foreign);
    return false;
}

struct pg_op pg_foreign_op(enum store_kind kind)
{
    struct pg_op op = pg_ops[kind];
    op.check = check;
    op.build = build;
    op.read = read_answer;
    op.take_other_way = take_other_way;
    return op;
}
