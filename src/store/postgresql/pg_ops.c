/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_ops.h"

#include "base/mem.h"
#include "store/postgresql/pg_foreign_ops.h"
#include "store/postgresql/pg_sql.h"

#include <inttypes.h>

#define LOCK_LEAST_MS  50
#define LOCK_MOST_MS   1000
#define LOCK_SHARED_MS 200 /* while others wait too */

const struct pg_op pg_ops[STORE_KIND_COUNT] = {
    [STORE_CLAIM] = {.name = "the claim",
                     .writes = true,
                     .build = pg_claim_build,
                     .read = pg_claim_read,
                     .take_other_way = pg_claim_take_other_way},
    [STORE_RENEW] = {.name = "the renewal",
                     .writes = true,
                     .build = pg_renew_build,
                     .read = pg_renew_read,
                     .take_other_way = pg_renew_take_other_way},
    [STORE_RELEASE] = {.name = "the release",
                       .writes = true,
                       .build = pg_release_build,
                       .read = pg_release_read},
    [STORE_UNDO] = {.name = "undoing the claim",
                    .writes = true,
                    .build = pg_undo_build,
                    .read = pg_release_read},
    [STORE_FREE] = {.name = "giving the lease back",
                    .writes = true,
                    .build = pg_free_build,
                    .read = pg_release_read},
    [STORE_REVOKE] = {.name = "the release by hand",
                      .writes = true,
                      .build = pg_revoke_build,
                      .read = pg_revoke_read},
    [STORE_STATUS] = {.name = "status", .build = pg_status_build, .read = pg_status_read},
    [STORE_HISTORY] = {.name = "history", .build = pg_history_build, .read = pg_history_read},
    [STORE_RECALL] = {.name = "recalling slots", .build = pg_recall_build, .read = pg_recall_read},
    [STORE_PURGE] = {.name = "the purge",
                     .writes = true,
                     .build = pg_purge_build,
                     .read = pg_purge_read},
    [STORE_FORGET] = {.name = "forgetting the key",
                      .writes = true,
                      .build = pg_forget_build,
                      .read = pg_purge_read},
    [STORE_INIT] = {.name = "init", .writes = false, .build = pg_init_build, .read = pg_init_read},
    [STORE_INSPECT] = {.name = "inspecting the store",
                       .build = pg_inspect_build,
                       .read = pg_inspect_read},
};

void pg_ops_done(struct pg_task *task)
{
    text_done(&task->script);
    pg_foreign_work_free(task->work);
    *task = (struct pg_task){0};
}

char *pg_ops_lock_timeout(const struct pg_task *task)
{
    int64_t ms = task->limit_ms / 4;
    int64_t most_ms = task->request->is_waited_for ? LOCK_SHARED_MS : LOCK_MOST_MS;
    if (ms < LOCK_LEAST_MS)
        ms = LOCK_LEAST_MS;
    if (ms > most_ms)
        ms = most_ms;
    return mem_printf("%" PRId64, ms);
}

char *pg_ops_take_array(struct text *array)
{
    pg_array_end(array);
    return text_detach(array);
}
