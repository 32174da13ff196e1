/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_quick.h"

#include "base/mem.h"
#include "base/time_text.h"
#include "store/postgresql/pg_row.h"
#include "store/postgresql/pg_schema.h"
#include "store/postgresql/pg_sql.h"

#include <inttypes.h>
#include <string.h>

/* Most of what a statement costs on a new connection is its own parsing and planning, so the
 * commonest case has statements of its own: one key, no slot, nothing to recover. They act only
 * when all is plain, and answer nothing otherwise; the whole statement judges then. */

/* Wins a key that is new, or was released by a run that told its end (a lease that a guard gave
 * back is marked revoked too: its run is to be closed). The look comes first, without a lock; a run
 * that is recorded already is that of a late duplicate. What
 * only the release will need is asked for now: nothing is started whose end cannot be told. */
static const char claim_sql[] =
    "WITH #settings"
    ", won AS (INSERT INTO @leases AS lease (key, holder, run_id, fence, attempt, acquired_at, "
    "expires_at, not_before, released, revoked, ttl_ms) "
    "SELECT $3::!text, $4::!text, $5::!text, !nextval(@@fence_seq), 1, !clock_timestamp(), "
    "!clock_timestamp() {+} $8::!interval, !clock_timestamp() {+} $9::!interval, false, false, "
    "$7::!int8 FROM settings "
    "WHERE settings.lock_timeout IS NOT NULL AND !clock_timestamp() {<=} $2::!timestamptz "
    "AND NOT EXISTS (SELECT 1 FROM @schema_version AS v "
    "WHERE v.oldest_reader {>} " PG_SCHEMA_VERSION_SQL ") "
    "AND !has_table_privilege(@@runs, 'SELECT') AND !has_table_privilege(@@runs, 'UPDATE') "
    "AND NOT EXISTS (SELECT 1 FROM @runs AS own WHERE own.run_id {=} $5::!text) "
    "AND (SELECT NOT held.released OR held.revoked OR held.not_before {>} !clock_timestamp() "
    "FROM @leases AS held WHERE held.key {=} $3::!text) IS NOT TRUE "
    "ON CONFLICT (key) DO UPDATE SET holder = EXCLUDED.holder, run_id = EXCLUDED.run_id, "
    "previous_run_id = NULL, "
    "fence = GREATEST(!nextval(@@fence_seq), lease.fence {+} 1), attempt = 1, "
    "acquired_at = !clock_timestamp(), "
    "expires_at = !clock_timestamp() {+} $8::!interval, "
    "not_before = !clock_timestamp() {+} $9::!interval, "
    "released = false, waited = false, ttl_ms = EXCLUDED.ttl_ms "
    "WHERE lease.released AND NOT lease.revoked AND lease.holder {<>} EXCLUDED.holder "
    "AND !clock_timestamp() {<=} $2::!timestamptz "
    "AND (lease.not_before {>} !clock_timestamp()) IS NOT TRUE "
    "RETURNING lease.key, lease.fence, lease.acquired_at)"
    ", started AS (INSERT INTO @runs (run_id, key, job, is_once, fence, holder, attempt, "
    "started_at) SELECT $5::!text, won.key, $6::!text, false, won.fence, $4::!text, 1, "
    "won.acquired_at FROM won)"
    " SELECT won.fence FROM won";

static const char release_sql[] =
    "WITH #settings"
    ", freed AS (UPDATE @leases AS lease SET released = true, "
    "expires_at = GREATEST(lease.acquired_at, LEAST(lease.expires_at, !clock_timestamp())) "
    "FROM settings WHERE settings.lock_timeout IS NOT NULL AND lease.key {=} $2::!text "
    "AND lease.holder {=} $3::!text AND lease.fence {=} $4::!int8 AND NOT lease.released "
    "RETURNING #wake)"
    ", written AS (UPDATE @runs AS run SET outcome = $6::!text, status = $7::!int4%output_tail, "
    "finished_at = GREATEST(run.started_at, !clock_timestamp()) FROM settings WHERE "
    "settings.lock_timeout IS NOT NULL "
    "AND run.run_id {=} $5::!text AND run.fence {=} $4::!int8 AND run.outcome IS NULL RETURNING 1)"
    " SELECT 1 FROM freed CROSS JOIN written";

static char *number(int64_t value)
{
    return mem_printf("%" PRId64, value);
}

/* Instants and spans go as text that the server reads by itself: cheaper than sums. */
static char *span(int64_t ms)
{
    return mem_printf("%" PRId64 " milliseconds", ms);
}

bool pg_quick_fits_claim(const struct pg_task *task)
{
    const struct claim_item *item = task->request->u.claim.items;
    return task->step == 0 && task->request->u.claim.count == 1 && item->attempt == 1 &&
           item->slot_us == NO_INSTANT && item->interrupted_fence == 0 && !item->is_once &&
           item->fingerprint == NULL;
}

void pg_quick_build_claim(struct pg_task *task, int64_t not_after_us,
                          struct pg_statement *statement)
{
    const struct claim_item *item = task->request->u.claim.items;
    char not_after[TIME_TEXT_MAX];
    statement->sql = pg_sql_expand(claim_sql, task->schema);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_statement_add(statement, mem_strdup(time_text_us(not_after_us, not_after)));
    pg_statement_add(statement, mem_strdup(item->key));
    pg_statement_add(statement, mem_strdup(item->holder));
    pg_statement_add(statement, mem_strdup(item->run_id));
    pg_statement_add(statement, mem_strdup(item->job));
    pg_statement_add(statement, number(item->ttl_ms));
    pg_statement_add(statement, span(item->ttl_ms));
    pg_statement_add(statement, item->hold_ms > 0 ? span(item->hold_ms) : NULL);
}

enum pg_next pg_quick_read_claim(struct pg_task *task, const PGresult *result)
{
    struct claim_item *item = task->request->u.claim.items;
    item->fence = pg_row_int64(result, 0, "fence", 0);
    if (item->fence <= 0)
        return PG_NEXT_STEP;
    item->verdict = CLAIM_WON;
    item->wait_ms = 0;
    item->held_since_us = NO_INSTANT;
    item->is_on_hold = false;
    item->other[0] = '\0';
    item->abandoned[0] = '\0';
    item->abandoned_fence = 0;
    item->is_first_to_tell = false;
    item->previous_fingerprint[0] = '\0';
    return PG_NEXT_DONE;
}

bool pg_quick_fits_release(const struct pg_task *task)
{
    return task->step == 0 && task->request->u.release.count == 1 &&
           task->request->u.release.items[0].outcome != OUTCOME_NONE;
}

void pg_quick_build_release(struct pg_task *task, struct pg_statement *statement)
{
    const struct release_item *item = task->request->u.release.items;
    bool has_tail = item->output_tail != NULL;
    const struct pg_sql_name names[] = {
        {"output_tail", has_tail ? ", output_tail = $8::pg_catalog.bytea" : ""}, {NULL, NULL}};
    statement->sql = pg_sql_expand_names(release_sql, task->schema, names);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_statement_add(statement, mem_strdup(item->key));
    pg_statement_add(statement, mem_strdup(item->holder));
    pg_statement_add(statement, number(item->fence));
    pg_statement_add(statement, mem_strdup(item->run_id));
    pg_statement_add(statement, mem_strdup(run_outcome_name(item->outcome)));
    pg_statement_add(statement, item->status < 0 ? NULL : number(item->status));
    if (has_tail)
        pg_statement_add(statement, pg_sql_bytes(item->output_tail, item->output_tail_length));
}

enum pg_next pg_quick_read_release(struct pg_task *task, const PGresult *result)
{
    if (PQntuples(result) == 0)
        return PG_NEXT_STEP;
    task->request->u.release.items[0].verdict = RELEASE_RELEASED;
    task->request->u.release.items[0].is_recorded = true;
    return PG_NEXT_DONE;
}
