/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_takeover.h"

#include "base/mem.h"
#include "store/postgresql/pg_sql.h"

#include <inttypes.h>

/* As for other claims the look comes first, without a lock, and late duplicates first in it. What
 * looks free is judged again under two locks, the lease's row and then the run's: the lease must
 * be the mandate that was looked at, and the run interrupted still, for its last holder may be
 * late and not dead. */

static const char look_sql[] =
    "WITH #settings"
    ", item AS MATERIALIZED (SELECT $3::!text AS key, $4::!text AS holder, $5::!text AS run_id, "
    "$6::!int4 AS attempt, $7::!int8 AS ttl_ms, $8::!int8 AS hold_ms, $9::!int8 AS fence, "
    "$10::!int8 AS max_starts, #instant($2::!int8) AS not_after, !clock_timestamp() AS now "
    "FROM settings WHERE settings.lock_timeout IS NOT NULL)"
    ", look AS MATERIALIZED (SELECT item.*, lease.fence AS lease_fence, "
    "lease.holder AS lease_holder, lease.attempt AS lease_attempt, lease.acquired_at, "
    "lease.released, lease.revoked, lease.not_before, "
    "LEAST(lease.expires_at, item.now {+} #span(lease.ttl_ms)) AS expires_at, "
    "run.fence AS run_fence, run.holder AS run_holder, run.slot, run.starts, run.outcome, "
    "run.abandoned_by FROM item LEFT JOIN @leases AS lease ON lease.key {=} item.key "
    "LEFT JOIN @runs AS run ON run.run_id {=} item.run_id AND run.key {=} item.key)";

#define IS_INTERRUPTED(row)                                                                        \
    row "starts IS NOT NULL AND (" row "outcome IS NULL OR " row "outcome {=} 'stopped')"

static const char judged_sql[] =
    ", judged AS MATERIALIZED (SELECT look.*, CASE "
    "WHEN now {>} not_after OR (starts IS NOT NULL AND abandoned_by {=} holder) THEN 'raced' "
    "WHEN lease_holder {=} holder AND NOT released AND NOT revoked AND attempt {>} lease_attempt "
    "THEN 'free' "
    "WHEN lease_holder {=} holder AND NOT released AND expires_at {>} now THEN 'held' "
    "WHEN lease_holder {=} holder THEN 'raced' "
    "WHEN (lease_fence IS NOT NULL AND run_fence {=} fence AND " IS_INTERRUPTED(
        "") ") "
            "IS NOT TRUE THEN 'done' "
            "WHEN NOT released AND expires_at {>} now THEN 'held' "
            "WHEN not_before {>} now AND acquired_at {<=} now THEN 'held' "
            "WHEN starts {>=} max_starts THEN 'spent' "
            "ELSE 'free' END AS verdict FROM look)";

static const char won_sql[] =
    ", lease_locked AS MATERIALIZED (SELECT lease.key FROM judged AS j "
    "JOIN @leases AS lease ON lease.key {=} j.key AND lease.fence {=} j.lease_fence "
    "WHERE j.verdict {=} 'free' FOR NO KEY UPDATE OF lease)"
    ", run_locked AS MATERIALIZED (SELECT run.run_id FROM lease_locked CROSS JOIN judged AS j "
    "JOIN @runs AS run ON run.run_id {=} j.run_id AND run.fence {=} j.run_fence "
    "WHERE " IS_INTERRUPTED(
        "run.") " FOR NO KEY UPDATE OF run)"
                ", won AS (UPDATE @leases AS lease SET holder = j.holder, run_id = j.run_id, "
                "previous_run_id = CASE WHEN lease.holder {=} j.holder THEN lease.previous_run_id "
                "WHEN lease.run_id {<>} j.run_id THEN lease.run_id END, "
                "fence = GREATEST(!nextval(@@fence_seq), lease.fence {+} 1), attempt = j.attempt, "
                "acquired_at = !clock_timestamp(), expires_at = !clock_timestamp() {+} "
                "#span(j.ttl_ms), "
                "not_before = !clock_timestamp() {+} #span(j.hold_ms), released = false, revoked = "
                "false, "
                "waited = false, slot = j.slot, ttl_ms = j.ttl_ms FROM judged AS j CROSS JOIN "
                "run_locked "
                "WHERE lease.key {=} j.key AND !clock_timestamp() {<=} j.not_after AND ("
                "(lease.holder {=} j.holder AND NOT lease.released AND NOT lease.revoked) "
                "OR (lease.holder {<>} j.holder "
                "AND (lease.released OR lease.expires_at {<=} !clock_timestamp()))) "
                "RETURNING lease.key, lease.fence, lease.previous_run_id)";

/* again, of our own claim whose reply was lost: it has been counted. closed, spent: told again for
 * the same reason. A run that is given up keeps its outcome. */
static const char runs_sql[] =
    ", taken AS (UPDATE @runs AS run SET fence = won.fence, holder = j.holder, "
    "attempt = j.attempt, outcome = NULL, status = NULL, finished_at = NULL, output_tail = NULL, "
    "starts = CASE WHEN j.lease_holder {=} j.holder THEN run.starts ELSE run.starts {+} 1 END "
    "FROM won CROSS JOIN judged AS j WHERE run.run_id {=} j.run_id RETURNING run.starts)"
    ", closed AS (UPDATE @runs AS run SET outcome = 'abandoned', abandoned_by = j.run_id, "
    "finished_at = COALESCE(run.finished_at, GREATEST(run.started_at, !clock_timestamp())) "
    "FROM won CROSS JOIN judged AS j WHERE run.run_id {=} won.previous_run_id "
    "AND (run.outcome IS NULL OR run.abandoned_by {=} j.run_id) "
    "RETURNING run.run_id, run.fence, run.holder)"
    ", spent AS (UPDATE @runs AS run SET starts = NULL, abandoned_by = j.holder, "
    "outcome = COALESCE(run.outcome, 'abandoned'), "
    "finished_at = COALESCE(run.finished_at, GREATEST(run.started_at, !clock_timestamp())) "
    "FROM judged AS j WHERE j.verdict {=} 'spent' AND run.run_id {=} j.run_id "
    "AND run.fence {=} j.fence AND " IS_INTERRUPTED("run.") " RETURNING run.run_id)";

static const char answer_sql[] =
    " SELECT CASE WHEN j.verdict {=} 'free' AND won.key IS NOT NULL THEN 'won' "
    "WHEN j.verdict {=} 'free' THEN 'raced' WHEN j.verdict {=} 'spent' THEN 'done' "
    "ELSE j.verdict END AS verdict, won.fence, taken.starts, "
    "CASE WHEN NOT j.released AND j.expires_at {>} j.now THEN #ms(j.expires_at {-} j.now) "
    "ELSE #ms(j.not_before {-} j.now) END AS wait_ms, #us(j.acquired_at) AS held_since_us, "
    "CASE WHEN j.verdict {=} 'held' THEN j.lease_holder "
    "WHEN j.run_holder {=} j.holder THEN closed.holder ELSE COALESCE(closed.holder, j.run_holder) "
    "END AS other, "
    "closed.run_id AS abandoned, closed.fence AS abandoned_fence, "
    "(j.released OR j.expires_at {<=} j.now) AS is_on_hold, "
    "(spent.run_id IS NOT NULL OR (j.starts IS NULL AND j.abandoned_by {=} j.holder)) "
    "AS is_first_to_tell, #server "
    "FROM judged AS j LEFT JOIN won ON true LEFT JOIN taken ON true LEFT JOIN closed ON true "
    "LEFT JOIN spent ON true";

bool pg_takeover_fits(const struct pg_task *task)
{
    return task->request->u.claim.count == 1 &&
           task->request->u.claim.items[0].interrupted_fence != 0;
}

static char *number(int64_t value)
{
    return mem_printf("%" PRId64, value);
}

void pg_takeover_build(struct pg_task *task, int64_t not_after_us, struct pg_statement *statement)
{
    const struct claim_item *item = task->request->u.claim.items;
    TEXT_AUTODONE struct text sql = TEXT_INIT;
    text_add(&sql, look_sql);
    text_add(&sql, judged_sql);
    text_add(&sql, won_sql);
    text_add(&sql, runs_sql);
    text_add(&sql, answer_sql);
    statement->sql = pg_sql_expand(text_string(&sql), task->schema);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_statement_add(statement, number(not_after_us));
    pg_statement_add(statement, mem_strdup(item->key));
    pg_statement_add(statement, mem_strdup(item->holder));
    pg_statement_add(statement, mem_strdup(item->run_id));
    pg_statement_add(statement, number(item->attempt));
    pg_statement_add(statement, number(item->ttl_ms));
    pg_statement_add(statement, item->hold_ms > 0 ? number(item->hold_ms) : NULL);
    pg_statement_add(statement, number(item->interrupted_fence));
    pg_statement_add(statement, number(item->max_starts));
}
