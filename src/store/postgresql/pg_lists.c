/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "store/postgresql/pg_ops.h"
#include "store/postgresql/pg_row.h"
#include "store/postgresql/pg_sql.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define STRING_OF(number) #number
#define STRING(macro)     STRING_OF(macro)

/* What there is, and what may go. Lists come in one reply; a row without a key carries the
 * server's clock alone. */

/* ---- status ------------------------------------------------------------------------------ */

static const char status_sql[] =
    "WITH t AS MATERIALIZED (SELECT !clock_timestamp() AS now, #server) "
    "SELECT t.server_us, t.timeline, lease.key, lease.holder, lease.fence, lease.revoked, "
    "CASE WHEN lease.released AND lease.not_before {>} t.now AND lease.acquired_at {<=} t.now "
    "THEN 'on_hold' WHEN lease.released THEN 'released' "
    "WHEN lease.expires_at {>} t.now THEN 'held' ELSE 'expired' END AS state, "
    "#us(lease.acquired_at) AS acquired_us, #us(lease.expires_at) AS expires_us, "
    "#us(lease.slot) AS slot_us, #ms(lease.not_before {-} t.now) AS hold_ms, "
    "#ms(LEAST(lease.expires_at {-} t.now, #span(lease.ttl_ms))) AS lease_ms "
    "FROM t LEFT JOIN @leases AS lease ON ($1::!text IS NULL OR lease.key {=} $1) "
    "ORDER BY lease.key";

void pg_status_build(struct pg_task *task, struct pg_statement *statement)
{
    statement->sql = pg_sql_expand(status_sql, task->schema);
    pg_statement_add(statement, mem_strdup(task->request->u.leases.key));
}

static enum lease_state read_state(const char *name)
{
    if (strcmp(name, "held") == 0)
        return LEASE_HELD;
    if (strcmp(name, "on_hold") == 0)
        return LEASE_ON_HOLD;
    return strcmp(name, "released") == 0 ? LEASE_RELEASED : LEASE_EXPIRED;
}

static int64_t remaining_ms(enum lease_state state, const PGresult *result, int row)
{
    int64_t ms = 0;
    if (state == LEASE_HELD)
        ms = pg_row_int64(result, row, "lease_ms", 0);
    else if (state == LEASE_ON_HOLD)
        ms = pg_row_int64(result, row, "hold_ms", 0);
    return ms > 0 ? ms : 0;
}

static void read_lease(struct lease_row *lease, const PGresult *result, int row)
{
    lease->key = pg_row_copy(result, row, "key");
    lease->holder = pg_row_copy(result, row, "holder");
    lease->state = read_state(pg_row_text(result, row, "state"));
    lease->is_revoked = pg_row_bool(result, row, "revoked");
    lease->fence = pg_row_int64(result, row, "fence", 0);
    lease->acquired_us = pg_row_int64(result, row, "acquired_us", NO_INSTANT);
    lease->expires_us = pg_row_int64(result, row, "expires_us", NO_INSTANT);
    lease->remaining_ms = remaining_ms(lease->state, result, row);
    lease->slot_us = pg_row_int64(result, row, "slot_us", NO_INSTANT);
}

/* Rows of the list: none when the only one has no key. */
static size_t count_rows(const PGresult *result, const char *column)
{
    int rows = PQntuples(result);
    return rows == 1 && pg_row_text(result, 0, column)[0] == '\0' ? 0 : (size_t)rows;
}

enum pg_next pg_status_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    struct lease_list *list = &task->request->u.leases;
    list->count = count_rows(result, "key");
    list->rows = mem_array(list->count, sizeof list->rows[0]);
    for (size_t i = 0; i < list->count; i++)
        read_lease(&list->rows[i], result, (int)i);
    return PG_NEXT_DONE;
}

/* What is left of a claim that was undone: no run of anything, and soon purged. */
#define IS_UNDONE "COALESCE(run.outcome {=} 'not_started' AND run.started_at IS NULL, false) "

/* ---- history ----------------------------------------------------------------------------- */

#define LIST_NEWEST                                                                                \
    "SELECT t.*, run.run_id, run.key, run.job, run.holder, run.fence, "                            \
    "#us(run.slot) AS slot_us, #us(run.started_at) AS started_us, "                                \
    "#us(run.finished_at) AS finished_us, run.outcome, run.status%output_tail "                    \
    "FROM t LEFT JOIN newest AS run ON true ORDER BY run.at DESC, run.run_id DESC"

static const char history_sql[] =
    "WITH t AS MATERIALIZED (SELECT #server), newest AS MATERIALIZED (SELECT run.*, "
    "COALESCE(run.started_at, run.finished_at) AS at FROM @runs AS run "
    "WHERE ($1::!text IS NULL OR run.key {=} $1 OR run.job {=} $1 "
    "OR run.run_id {=} $1) AND NOT " IS_UNDONE
    "ORDER BY at DESC, run.run_id DESC LIMIT $2::!int8) " LIST_NEWEST;

static const char slots_sql[] =
    "WITH t AS MATERIALIZED (SELECT #server, (SELECT #us(run.slot) FROM @runs AS run "
    "WHERE run.key {=} $1::!text AND run.slot IS NOT NULL ORDER BY run.slot LIMIT 1) "
    "AS oldest_us), newest AS MATERIALIZED (SELECT run.*, run.slot AS at FROM @runs AS run "
    "WHERE run.key {=} $1::!text AND run.slot {>=} #instant($3::!int8) "
    "ORDER BY run.slot DESC LIMIT $2::!int8) " LIST_NEWEST;

void pg_history_build(struct pg_task *task, struct pg_statement *statement)
{
    const struct run_list *list = &task->request->u.runs;
    const struct pg_sql_name names[] = {
        {"output_tail", list->wants_output_tail ? ", run.output_tail" : ""}, {NULL, NULL}};
    statement->sql =
        pg_sql_expand_names(list->is_of_slots ? slots_sql : history_sql, task->schema, names);
    pg_statement_add(statement, mem_strdup(list->key));
    pg_statement_add(statement, list->limit > 0 ? mem_printf("%" PRId64, list->limit) : NULL);
    if (list->is_of_slots)
        pg_statement_add(statement, mem_printf("%" PRId64, list->from_us));
}

static enum run_outcome read_outcome(const char *name)
{
    for (int i = OUTCOME_NONE + 1; i < OUTCOME_COUNT; i++)
        if (strcmp(run_outcome_name((enum run_outcome)i), name) == 0)
            return (enum run_outcome)i;
    return OUTCOME_NONE;
}

static void read_run(struct run_row *run, const PGresult *result, int row)
{
    run->run_id = pg_row_copy(result, row, "run_id");
    run->key = pg_row_copy(result, row, "key");
    run->job = pg_row_copy(result, row, "job");
    run->holder = pg_row_copy(result, row, "holder");
    run->fence = pg_row_int64(result, row, "fence", 0);
    run->slot_us = pg_row_int64(result, row, "slot_us", NO_INSTANT);
    run->started_us = pg_row_int64(result, row, "started_us", NO_INSTANT);
    run->finished_us = pg_row_int64(result, row, "finished_us", NO_INSTANT);
    run->outcome = read_outcome(pg_row_text(result, row, "outcome"));
    run->status = (int)pg_row_int64(result, row, "status", -1);
    run->output_tail = pg_row_copy_bytes(result, row, "output_tail", &run->output_tail_length);
}

enum pg_next pg_history_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    struct run_list *list = &task->request->u.runs;
    list->count = count_rows(result, "run_id");
    list->rows = mem_array(list->count, sizeof list->rows[0]);
    for (size_t i = 0; i < list->count; i++)
        read_run(&list->rows[i], result, (int)i);
    if (list->is_of_slots)
        list->oldest_slot_us = pg_row_int64(result, 0, "oldest_us", NO_INSTANT);
    return PG_NEXT_DONE;
}

/* ---- recall ------------------------------------------------------------------------------ */

/* Of the newest slots alone: the others need not be read, and nobody waits for them any more. */
#define INTERRUPTED                                                                                \
    "SELECT recent.run_id, recent.fence, recent.slot, recent.starts FROM (SELECT run.* "           \
    "FROM @runs AS run WHERE item.wants_interrupted AND run.key {=} item.key "                     \
    "AND run.slot IS NOT NULL ORDER BY run.slot DESC LIMIT " STRING(                               \
        INTERRUPTED_SLOTS) ") AS recent WHERE recent.starts IS NOT NULL "                          \
                           "AND (recent.outcome IS NULL OR recent.outcome {=} 'stopped') "         \
                           "AND (item.job IS NULL OR recent.job {=} item.job) ORDER BY "           \
                           "recent.slot DESC LIMIT 1"

/* The index of (key, slot) has each key's latest slot at its end. */
static const char recall_sql[] =
    "SELECT #us(won.slot) AS won_us, #us(latest.slot) AS latest_us, latest.outcome, "
    "lease.fingerprint, #us(lease.acquired_at) AS written_us, interrupted.run_id, "
    "interrupted.fence, #us(interrupted.slot) AS interrupted_slot_us, interrupted.starts, #server "
    "FROM (SELECT i.key, i.job, i.wants_interrupted, i.n, "
    "COALESCE(#instant(i.before_us), 'infinity') AS before "
    "FROM ROWS FROM (!unnest($1::!text[]), !unnest($2::!int8[]), !unnest($3::!text[]), "
    "!unnest($4::!bool[])) "
    "WITH ORDINALITY AS i (key, before_us, job, wants_interrupted, n)) AS item "
    "LEFT JOIN @leases AS lease ON lease.key {=} item.key "
    "LEFT JOIN LATERAL (SELECT lease.slot WHERE item.job IS NULL AND lease.slot {<} item.before) "
    "AS won ON true LEFT JOIN LATERAL (SELECT run.slot, run.outcome FROM @runs AS run "
    "WHERE run.key {=} item.key AND run.slot {<} item.before "
    "AND (item.job IS NULL OR run.job {=} item.job) ORDER BY run.slot DESC LIMIT 1) "
    "AS latest ON true LEFT JOIN LATERAL (" INTERRUPTED
    ") AS interrupted ON (lease.released OR lease.expires_at {<=} !clock_timestamp()) "
    "AND (lease.not_before {>} !clock_timestamp() AND lease.acquired_at {<=} !clock_timestamp()) "
    "IS NOT TRUE ORDER BY item.n";

void pg_recall_build(struct pg_task *task, struct pg_statement *statement)
{
    const struct store_request *request = task->request;
    struct text keys = TEXT_INIT, before = TEXT_INIT, jobs = TEXT_INIT, wants = TEXT_INIT;
    pg_array_begin(&keys);
    pg_array_begin(&before);
    pg_array_begin(&jobs);
    pg_array_begin(&wants);
    for (size_t i = 0; i < request->u.recall.count; i++) {
        const struct recall_item *item = &request->u.recall.items[i];
        pg_array_add_text(&keys, item->key);
        pg_array_add_text(&jobs, item->job);
        pg_array_add_text(&wants, item->wants_interrupted ? "t" : "f");
        pg_array_add_int64(&before, item->before_us == 0 ? NO_INSTANT : item->before_us);
    }
    statement->sql = pg_sql_expand(recall_sql, task->schema);
    pg_statement_add(statement, pg_ops_take_array(&keys));
    pg_statement_add(statement, pg_ops_take_array(&before));
    pg_statement_add(statement, pg_ops_take_array(&jobs));
    pg_statement_add(statement, pg_ops_take_array(&wants));
}

static void read_interrupted(struct interrupted_run *run, const PGresult *result, int row)
{
    pg_row_copy_into(result, row, "run_id", run->run_id, sizeof run->run_id);
    run->fence = pg_row_int64(result, row, "fence", 0);
    run->slot_us = pg_row_int64(result, row, "interrupted_slot_us", NO_INSTANT);
    run->starts = pg_row_int64(result, row, "starts", 0);
}

/* The run of the slot that was won last may be purged: the lease's row remembers the slot. */
static void read_slot(struct recall_item *item, const PGresult *result, int row)
{
    int64_t won_us = pg_row_int64(result, row, "won_us", NO_INSTANT);
    int64_t latest_us = pg_row_int64(result, row, "latest_us", NO_INSTANT);
    bool has_run = latest_us != NO_INSTANT && latest_us >= won_us;
    item->slot_us = has_run ? latest_us : won_us;
    item->outcome = has_run ? read_outcome(pg_row_text(result, row, "outcome")) : OUTCOME_COUNT;
}

enum pg_next pg_recall_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    struct recall_item *items = task->request->u.recall.items;
    int count = (int)task->request->u.recall.count;
    if (PQntuples(result) != count) {
        error_set(err, ERROR_STORE, "the server answered for %d of %d keys", PQntuples(result),
                  count);
        return PG_NEXT_FAILED;
    }
    for (int i = 0; i < count; i++) {
        read_slot(&items[i], result, i);
        items[i].written_us = pg_row_int64(result, i, "written_us", NO_INSTANT);
        pg_row_copy_into(result, i, "fingerprint", items[i].fingerprint,
                         sizeof items[i].fingerprint);
        read_interrupted(&items[i].interrupted, result, i);
    }
    return PG_NEXT_DONE;
}

/* ---- purge and forget -------------------------------------------------------------------- */

/* Under init's advisory lock, taken once the lock timeout is set. Conditions are repeated on the
 * DELETE itself, and rows that somebody has locked are skipped: a claim that comes between finding
 * and deleting keeps its lease. */
#define UPKEEP                                                                                     \
    "WITH #settings, upkeep AS MATERIALIZED (SELECT settings.lock_timeout, "                       \
    "!pg_advisory_xact_lock(" PG_OPS_UPKEEP_LOCK ") AS locked FROM settings "                      \
    "WHERE settings.lock_timeout IS NOT NULL)"
#define HAS_UNFINISHED_RUN                                                                         \
    "EXISTS (SELECT 1 FROM @runs AS run WHERE run.run_id {=} lease.run_id "                        \
    "AND run.outcome IS NULL)"
#define HAS_SUCCEEDED_ONCE                                                                         \
    "EXISTS (SELECT 1 FROM @runs AS once WHERE once.is_once AND once.key {=} lease.key "           \
    "AND once.outcome {=} 'succeeded')"
#define IS_PURGEABLE                                                                               \
    "(lease.expires_at {<} (!clock_timestamp() {-} CASE WHEN lease.slot IS NULL "                  \
    "THEN #span($2::!int8) ELSE #span($3::!int8) END) "                                            \
    "AND (lease.not_before {>} !clock_timestamp()) IS NOT TRUE "                                   \
    "AND NOT " HAS_UNFINISHED_RUN " AND NOT " HAS_SUCCEEDED_ONCE ")"
#define IS_OLD_RUN                                                                                 \
    "(run.outcome IS NOT NULL AND NOT (run.is_once AND run.outcome {=} 'succeeded') "              \
    "AND run.finished_at {<} (!clock_timestamp() {-} CASE WHEN " IS_UNDONE                         \
    "THEN #span($2::!int8) ELSE #span($4::!int8) END))"
#define IS_FORGETTABLE                                                                             \
    "(lease.key {=} $2::!text AND (lease.released OR lease.expires_at {<=} !clock_timestamp()))"
#define IS_FORGOTTEN_RUN "(run.key {=} $2::!text AND run.outcome IS NOT NULL)"
/* A forgotten key has no next claim that would close the run of a holder that is gone. */
#define CLOSE_UNFINISHED                                                                           \
    ", closed AS (UPDATE @runs AS run SET outcome = 'abandoned', "                                 \
    "finished_at = GREATEST(run.started_at, !clock_timestamp()) "                                  \
    "FROM dead WHERE run.key {=} dead.key AND run.outcome IS NULL)"

/* What has written is remembered for as long as slots are, and while there is a lease. A forgotten
 * key's fence stays: those before it are refused for ever. */
#define PURGE_FENCES                                                                               \
    ", fences_gone AS (DELETE FROM @fences AS seen USING upkeep WHERE upkeep.lock_timeout "        \
    "IS NOT NULL AND seen.seen_at {<} (!clock_timestamp() {-} #span($3::!int8)) "                  \
    "AND NOT EXISTS (SELECT 1 FROM @leases AS lease WHERE lease.key {=} seen.key))"

#define DELETE_BOTH(lease_condition, run_condition, also)                                          \
    UPKEEP ", dead AS MATERIALIZED (SELECT lease.key FROM upkeep CROSS JOIN @leases AS lease "     \
           "WHERE " lease_condition " ORDER BY lease.key FOR UPDATE OF lease SKIP LOCKED)"         \
           ", leases_gone AS (DELETE FROM @leases AS lease USING dead "                            \
           "WHERE lease.key {=} dead.key AND " lease_condition " RETURNING 1)"                     \
           ", old AS MATERIALIZED (SELECT run.run_id FROM upkeep CROSS JOIN @runs AS run "         \
           "WHERE " run_condition " FOR UPDATE OF run SKIP LOCKED)"                                \
           ", runs_gone AS (DELETE FROM @runs AS run USING old "                                   \
           "WHERE run.run_id {=} old.run_id AND " run_condition " RETURNING run.run_id)"           \
           ", steps_gone AS (DELETE FROM @steps AS step USING runs_gone "                          \
           "WHERE step.run_id {=} runs_gone.run_id)" also                                          \
           " SELECT (SELECT !count(*) FROM leases_gone) AS leases_deleted, "                       \
           "(SELECT !count(*) FROM runs_gone) AS runs_deleted, #server"

static const char purge_sql[] = DELETE_BOTH(IS_PURGEABLE, IS_OLD_RUN, PURGE_FENCES);
static const char forget_sql[] = DELETE_BOTH(IS_FORGETTABLE, IS_FORGOTTEN_RUN, CLOSE_UNFINISHED);

void pg_purge_build(struct pg_task *task, struct pg_statement *statement)
{
    const struct purge *purge = &task->request->u.purge;
    statement->sql = pg_sql_expand(purge_sql, task->schema);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_statement_add(statement, mem_printf("%" PRId64, purge->lease_retention_ms));
    pg_statement_add(statement, mem_printf("%" PRId64, purge->slot_retention_ms));
    pg_statement_add(statement, mem_printf("%" PRId64, purge->run_retention_ms));
}

void pg_forget_build(struct pg_task *task, struct pg_statement *statement)
{
    statement->sql = pg_sql_expand(forget_sql, task->schema);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_statement_add(statement, mem_strdup(task->request->u.purge.forget_key));
}

enum pg_next pg_purge_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    struct purge *purge = &task->request->u.purge;
    purge->leases_deleted = pg_row_int64(result, 0, "leases_deleted", 0);
    purge->runs_deleted = pg_row_int64(result, 0, "runs_deleted", 0);
    return PG_NEXT_DONE;
}
