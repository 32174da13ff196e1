/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_foreign_phase.h"

#include "base/mem.h"
#include "store/postgresql/pg_foreign_ops.h"
#include "store/postgresql/pg_foreign_refuse.h"

#include <stdlib.h>

/* ---- which phases, and which of them are due --------------------------------------------- */

#define PHASES_MAX 7
#define BOTH                                                                                       \
    {                                                                                              \
        PG_FOREIGN_FACTS, PG_FOREIGN_OWN, PG_FOREIGN_TABLE, PG_FOREIGN_END                         \
    }
#define OWN_ALONE                                                                                  \
    {                                                                                              \
        PG_FOREIGN_FACTS, PG_FOREIGN_OWN, PG_FOREIGN_END                                           \
    }

static const enum pg_foreign_phase orders[STORE_KIND_COUNT][PHASES_MAX] = {
    [STORE_CLAIM] = {PG_FOREIGN_FACTS, PG_FOREIGN_LOOK, PG_FOREIGN_OWN, PG_FOREIGN_TABLE,
                     PG_FOREIGN_SKIP, PG_FOREIGN_UNDO, PG_FOREIGN_END},
    [STORE_RENEW] = BOTH,
    [STORE_RELEASE] = BOTH,
    [STORE_UNDO] = BOTH,
    [STORE_FREE] = BOTH,
    [STORE_REVOKE] = {PG_FOREIGN_FACTS, PG_FOREIGN_TABLE, PG_FOREIGN_OWN, PG_FOREIGN_END},
    [STORE_STATUS] = {PG_FOREIGN_FACTS, PG_FOREIGN_TABLE, PG_FOREIGN_END},
    [STORE_HISTORY] = OWN_ALONE,
    [STORE_RECALL] = OWN_ALONE,
    [STORE_PURGE] = OWN_ALONE,
    [STORE_FORGET] = OWN_ALONE,
    [STORE_INIT] = {PG_FOREIGN_OWN, PG_FOREIGN_END},
    [STORE_INSPECT] = OWN_ALONE,
};

static size_t count_claims(const struct pg_foreign_work *work, bool is_skipping)
{
    size_t count = 0;
    for (size_t i = 0; i < work->claim_count; i++)
        count += work->claims[i]->is_skipping == is_skipping ? 1 : 0;
    return count;
}

static bool has_plain_claim(const struct pg_foreign_work *work)
{
    for (size_t i = 0; i < work->claim_count; i++)
        if (!pg_foreign_is_judged_by_own(work->claims[i]))
            return true;
    return false;
}

static bool has_renewal(const struct pg_task *task)
{
    for (size_t i = 0; i < task->request->u.renew.count; i++)
        if (pg_foreign_is_to_renew(task, &task->request->u.renew.items[i]))
            return true;
    return false;
}

static bool has_release(const struct pg_task *task)
{
    for (size_t i = 0; i < task->request->u.release.count; i++)
        if (pg_foreign_is_to_release(task, &task->request->u.release.items[i]))
            return true;
    return false;
}

static bool is_own_due(const struct pg_task *task)
{
    const struct pg_foreign_work *work = task->work;
    switch (task->request->kind) {
    case STORE_INIT:
        return true;
    case STORE_INSPECT:
        return work->has_schema;
    case STORE_CLAIM:
        return task->foreign->is_joined && work->claim_count > 0;
    case STORE_REVOKE:
        return task->foreign->is_joined &&
               (work->table_verdict == REVOKE_FREED || work->table_verdict == REVOKE_UNKNOWN);
    default:
        return task->foreign->is_joined;
    }
}

static bool is_table_due(const struct pg_task *task)
{
    switch (task->request->kind) {
    case STORE_CLAIM:
        return task->work->claim_count > 0;
    case STORE_RENEW:
        return has_renewal(task);
    case STORE_RELEASE:
    case STORE_UNDO:
    case STORE_FREE:
        return has_release(task);
    default:
        return true;
    }
}

static bool is_due(const struct pg_task *task, enum pg_foreign_phase phase)
{
    const struct pg_foreign_work *work = task->work;
    switch (phase) {
    case PG_FOREIGN_START:
        return false;
    case PG_FOREIGN_FACTS:
        return !pg_foreign_is_known(task->foreign) || task->request->kind == STORE_INSPECT;
    case PG_FOREIGN_LOOK:
        return task->foreign->is_joined && has_plain_claim(work);
    case PG_FOREIGN_OWN:
        return is_own_due(task);
    case PG_FOREIGN_TABLE:
        return is_table_due(task);
    case PG_FOREIGN_SKIP:
        return task->foreign->is_joined && count_claims(work, true) > 0;
    case PG_FOREIGN_UNDO:
        return task->foreign->is_joined && count_claims(work, false) > 0;
    case PG_FOREIGN_END:
        return true;
    }
    return true;
}

bool pg_foreign_phase_is_own(enum pg_foreign_phase phase)
{
    return phase == PG_FOREIGN_OWN || phase == PG_FOREIGN_SKIP || phase == PG_FOREIGN_UNDO;
}

/* ---- what our own tables are asked ------------------------------------------------------- */

static void ask_own(struct pg_task *task, struct store_request *request)
{
    pg_ops_done(&task->work->own);
    task->work->own.request = request;
}

static void ask_own_claims(struct pg_task *task)
{
    struct pg_foreign_work *work = task->work;
    work->own_claims = mem_array(work->claim_count, sizeof work->own_claims[0]);
    for (size_t i = 0; i < work->claim_count; i++)
        work->own_claims[i] = *work->claims[i];
    work->own_request = (struct store_request){
        .kind = STORE_CLAIM,
        .is_waited_for = task->request->is_waited_for,
        .u.claim = {.items = work->own_claims, .count = work->claim_count},
    };
    ask_own(task, &work->own_request);
}

static struct release_item amend(const struct claim_item *item)
{
    return (struct release_item){
        .key = item->key,
        .holder = item->holder,
        .fence = item->fence,
        .run_id = item->run_id,
        .outcome = item->is_skipping ? OUTCOME_SKIPPED : OUTCOME_NONE,
        .status = -1,
    };
}

static void ask_amends(struct pg_task *task, bool is_skipping)
{
    struct pg_foreign_work *work = task->work;
    size_t count = 0;
    free(work->amends);
    work->amends = mem_array(work->claim_count, sizeof work->amends[0]);
    for (size_t i = 0; i < work->claim_count; i++)
        if (work->claims[i]->is_skipping == is_skipping)
            work->amends[count++] = amend(work->claims[i]);
    work->own_request = (struct store_request){
        .kind = is_skipping ? STORE_RELEASE : STORE_UNDO,
        .is_waited_for = task->request->is_waited_for,
        .u.release = {.items = work->amends, .count = count},
    };
    ask_own(task, &work->own_request);
}

static void enter(struct pg_task *task, enum pg_foreign_phase phase)
{
    task->work->phase = phase;
    if (phase == PG_FOREIGN_OWN && task->request->kind == STORE_CLAIM)
        ask_own_claims(task);
    else if (phase == PG_FOREIGN_OWN)
        ask_own(task, task->request);
    else if (phase == PG_FOREIGN_SKIP || phase == PG_FOREIGN_UNDO)
        ask_amends(task, phase == PG_FOREIGN_SKIP);
}

/* Goes on to the next phase that is due. */
enum pg_next pg_foreign_phase_next(struct pg_task *task)
{
    bool is_first = task->work->phase <= PG_FOREIGN_FACTS && pg_foreign_is_known(task->foreign);
    if (is_first && task->request->kind == STORE_CLAIM)
        pg_foreign_refuse_leave_out(task);
    const enum pg_foreign_phase *order = orders[task->request->kind];
    if (task->work->phase != PG_FOREIGN_START) {
        while (*order != task->work->phase)
            order++;
        order++;
    }
    while (!is_due(task, *order))
        order++;
    enter(task, *order);
    if (task->work->phase != PG_FOREIGN_END)
        return PG_NEXT_STEP;
    if (task->request->kind == STORE_INSPECT)
        pg_foreign_inspect_end(task);
    return PG_NEXT_DONE;
}

void pg_foreign_phase_begin(struct pg_task *task)
{
    struct pg_foreign_work *work = mem_alloc(sizeof *work);
    const struct store_request *request = task->request;
    task->work = work;
    if (request->kind == STORE_CLAIM) {
        work->claim_count = request->u.claim.count;
        work->claims = mem_array(work->claim_count, sizeof work->claims[0]);
        for (size_t i = 0; i < work->claim_count; i++)
            work->claims[i] = &request->u.claim.items[i];
    }
    pg_foreign_phase_next(task);
}

void pg_foreign_work_free(struct pg_foreign_work *work)
{
    if (work == NULL)
        return;
    pg_ops_done(&work->own);
    free(work->claims);
    free(work->own_claims);
    free(work->amends);
    free(work->description);
    free(work);
}
