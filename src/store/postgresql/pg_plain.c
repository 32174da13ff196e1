/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_plain.h"

#include "base/mem.h"
#include "base/time_text.h"
#include "store/postgresql/pg_column.h"
#include "store/postgresql/pg_prepared.h"
#include "store/postgresql/pg_row.h"
#include "store/postgresql/pg_sql.h"

#include <string.h>

/* Plain is a key that is new, or was released by a run that told its end, with its hold over, and a
 * slot that is due and has no run. Each is judged again under the row's lock, by a fresh clock. The
 * slot itself cannot be: a run that was written since makes the statement fail (23505). */
static const char claim_sql[] =
    "WITH #settings"
    ", given AS MATERIALIZED (SELECT $3::!text[] AS keys, $4::!text[] AS holders, $5::!text[] AS "
    "run_ids, $6::!text[] AS jobs, $7::!int8[] AS ttls, $8::!int8[] AS holds, "
    "$9::!timestamptz[] AS slots, $10::!timestamptz[] AS untils, $11::!text[] AS fingerprints, "
    "$12::!int8[] AS startss FROM settings WHERE settings.lock_timeout IS NOT NULL "
    "AND !clock_timestamp() {<=} $2::!timestamptz "
    "AND !has_table_privilege(@@runs, 'SELECT') AND !has_table_privilege(@@runs, 'UPDATE'))"
    ", look AS MATERIALIZED (SELECT i.key, i.holder, i.run_id, i.job, i.ttl_ms, i.hold_ms, "
    "i.fingerprint, i.starts, i.slot, held.fingerprint AS previous_fingerprint, "
    "(held.key IS NULL OR (held.released AND NOT held.revoked "
    "AND (held.not_before {>} !clock_timestamp()) IS NOT TRUE "
    "AND (held.slot {=} i.slot) IS NOT TRUE)) "
    "AND (SELECT true FROM @runs AS own WHERE own.run_id {=} i.run_id) IS NOT TRUE "
    "AND (i.slot IS NULL OR (i.slot {<=} (!clock_timestamp() {+} '1 second'::!interval) "
    "AND (i.until {<} !clock_timestamp()) IS NOT TRUE "
    "AND (SELECT true FROM @runs AS run WHERE run.key {=} i.key "
    "AND run.slot {=} i.slot) IS NOT TRUE)) AS is_plain "
    "FROM (SELECT !unnest(given.keys) AS key, "
    "!unnest(given.holders) AS holder, !unnest(given.run_ids) AS run_id, "
    "!unnest(given.jobs) AS job, !unnest(given.ttls) AS ttl_ms, !unnest(given.holds) AS hold_ms, "
    "!unnest(given.slots) AS slot, !unnest(given.untils) AS until, "
    "!unnest(given.fingerprints) AS fingerprint, !unnest(given.startss) AS starts "
    "FROM given) AS i LEFT JOIN @leases AS held ON held.key {=} i.key)"
    ", won AS (INSERT INTO @leases AS lease (key, holder, run_id, fence, attempt, acquired_at, "
    "expires_at, not_before, released, revoked, slot, ttl_ms, fingerprint) "
    "SELECT look.key, look.holder, look.run_id, !nextval(@@fence_seq), 1, t.now, "
    "t.now {+} #span(look.ttl_ms), t.now {+} #span(look.hold_ms), false, false, look.slot, "
    "look.ttl_ms, look.fingerprint "
    "FROM look CROSS JOIN LATERAL (SELECT !clock_timestamp() AS now) AS t "
    "WHERE (SELECT !bool_and(look.is_plain) FROM look) ORDER BY look.key "
    "ON CONFLICT (key) DO UPDATE SET holder = EXCLUDED.holder, run_id = EXCLUDED.run_id, "
    "previous_run_id = NULL, "
    "fence = GREATEST(!nextval(@@fence_seq), lease.fence {+} 1), attempt = 1, "
    "acquired_at = !clock_timestamp(), "
    "expires_at = !clock_timestamp() {+} #span(EXCLUDED.ttl_ms), "
    "not_before = !clock_timestamp() {+} #span(#ms(EXCLUDED.not_before {-} "
    "EXCLUDED.acquired_at)), "
    "released = false, waited = false, slot = COALESCE(EXCLUDED.slot, lease.slot), ttl_ms = "
    "EXCLUDED.ttl_ms, "
    "fingerprint = COALESCE(EXCLUDED.fingerprint, lease.fingerprint) "
    "WHERE !clock_timestamp() {<=} $2::!timestamptz "
    "AND lease.released AND NOT lease.revoked AND lease.holder {<>} EXCLUDED.holder "
    "AND (lease.not_before {>} !clock_timestamp()) IS NOT TRUE "
    "AND (lease.slot {=} EXCLUDED.slot) IS NOT TRUE "
    "RETURNING lease.key, lease.fence, lease.acquired_at)"
    ", started AS (INSERT INTO @runs AS run (run_id, key, job, slot, is_once, fence, holder, "
    "attempt, started_at, starts) SELECT look.run_id, look.key, look.job, look.slot, false, "
    "won.fence, look.holder, 1, won.acquired_at, look.starts "
    "FROM won JOIN look ON look.key {=} won.key RETURNING run.run_id, run.fence)"
    " SELECT NULL AS run_id, NULL::!int8 AS fence, NULL AS previous_fingerprint, #server UNION ALL "
    "SELECT started.run_id, started.fence, %previous_fingerprint, NULL, NULL FROM started%look";

static const char release_sql[] =
    "WITH #settings"
    ", given AS MATERIALIZED (SELECT $2::!text[] AS keys, $3::!text[] AS holders, $4::!int8[] AS "
    "fences, $5::!text[] AS run_ids, $6::!text[] AS outcomes, $7::!int8[] AS statuss FROM "
    "settings WHERE settings.lock_timeout IS NOT NULL)"
    ", freed AS (UPDATE @leases AS lease SET released = true, "
    "expires_at = GREATEST(lease.acquired_at, LEAST(lease.expires_at, !clock_timestamp())) "
    "FROM (SELECT !unnest(given.keys) AS key, !unnest(given.holders) AS holder, "
    "!unnest(given.fences) AS fence FROM given) AS item "
    "WHERE lease.key {=} item.key AND lease.holder {=} item.holder "
    "AND lease.fence {=} item.fence AND NOT lease.released RETURNING #wake)"
    ", written AS (UPDATE @runs AS run SET outcome = item.outcome, "
    "status = item.status%output_tail, "
    "finished_at = GREATEST(run.started_at, !clock_timestamp()) "
    "FROM (SELECT !unnest(given.run_ids) AS run_id, !unnest(given.fences) AS fence, "
    "!unnest(given.outcomes) AS outcome, !unnest(given.statuss) AS status FROM given) AS item "
    "WHERE run.run_id {=} item.run_id AND run.fence {=} item.fence AND run.outcome IS NULL "
    "RETURNING 1)"
    " SELECT (SELECT !count(*) FROM freed) AS freed, (SELECT !count(*) FROM written) AS written, "
    "#server";

#define CLAIM_COLUMNS   10
#define RELEASE_COLUMNS 6

/* ---- claim ------------------------------------------------------------------------------- */

bool pg_plain_fits_claim(const struct pg_task *task)
{
    const struct claim_item *items = task->request->u.claim.items;
    for (size_t i = 0; i < task->request->u.claim.count; i++)
        if (items[i].attempt != 1 || items[i].is_once || items[i].interrupted_fence != 0)
            return false;
    return task->step == 0;
}

static const struct pg_sql_name *claim_names(const struct pg_task *task)
{
    static const struct pg_sql_name with[] = {
        {"previous_fingerprint", "look.previous_fingerprint"},
        {"look", " JOIN look ON look.run_id OPERATOR(pg_catalog.=) started.run_id"},
        {NULL, NULL}};
    static const struct pg_sql_name without[] = {
        {"previous_fingerprint", "NULL"}, {"look", ""}, {NULL, NULL}};
    for (size_t i = 0; i < task->request->u.claim.count; i++)
        if (task->request->u.claim.items[i].fingerprint != NULL)
            return with;
    return without;
}

static int64_t open_until_us(const struct claim_item *item)
{
    bool is_open_ended = item->slot_us == NO_INSTANT || item->start_within_ms < 0;
    return is_open_ended ? NO_INSTANT : item->slot_us + item->start_within_ms * 1000;
}

void pg_plain_build_claim(struct pg_task *task, int64_t not_after_us,
                          struct pg_statement *statement)
{
    struct pg_column columns[CLAIM_COLUMNS] = {{.null_count = 0}};
    char not_after[TIME_TEXT_MAX];
    for (size_t i = 0; i < task->request->u.claim.count; i++) {
        const struct claim_item *item = &task->request->u.claim.items[i];
        struct pg_column *column = columns;
        pg_column_add_text(column++, item->key);
        pg_column_add_text(column++, item->holder);
        pg_column_add_text(column++, item->run_id);
        pg_column_add_text(column++, item->job);
        pg_column_add_number(column++, item->ttl_ms);
        pg_column_add_number(column++, item->hold_ms > 0 ? item->hold_ms : NO_INSTANT);
        pg_column_add_instant(column++, item->slot_us);
        pg_column_add_instant(column++, open_until_us(item));
        pg_column_add_text(column++, item->fingerprint);
        pg_column_add_number(column++, item->is_rerun ? 1 : NO_INSTANT);
    }
    pg_prepared_write(task, claim_sql, claim_names(task), statement);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_statement_add(statement, mem_strdup(time_text_us(not_after_us, not_after)));
    pg_column_hand_over(statement, columns, CLAIM_COLUMNS);
}

static void reset(struct claim_item *item)
{
    item->verdict = CLAIM_RACED;
    item->fence = item->wait_ms = item->abandoned_fence = 0;
    item->held_since_us = NO_INSTANT;
    item->is_on_hold = item->is_first_to_tell = false;
    item->other[0] = item->abandoned[0] = item->previous_fingerprint[0] = '\0';
}

/* The answers come in nearly the order of the items: the search goes on where it ended. */
static struct claim_item *find_item(const struct pg_task *task, const char *run_id, size_t *at)
{
    size_t count = task->request->u.claim.count;
    for (size_t tries = 0; tries < count; tries++) {
        struct claim_item *item = &task->request->u.claim.items[*at];
        *at = (*at + 1) % count;
        if (strcmp(item->run_id, run_id) == 0)
            return item;
    }
    return NULL;
}

/* The first row is the server's own. All looked plain: who was not won then was taken by others
 * meanwhile. */
enum pg_next pg_plain_read_claim(struct pg_task *task, const PGresult *result)
{
    size_t at = 0;
    if (PQntuples(result) <= 1)
        return PG_NEXT_STEP;
    for (size_t i = 0; i < task->request->u.claim.count; i++)
        reset(&task->request->u.claim.items[i]);
    for (int row = 1; row < PQntuples(result); row++) {
        struct claim_item *item = find_item(task, pg_row_text(result, row, "run_id"), &at);
        int64_t fence = pg_row_int64(result, row, "fence", 0);
        if (item == NULL || fence <= 0)
            continue;
        item->verdict = CLAIM_WON;
        item->fence = fence;
        if (item->fingerprint != NULL)
            pg_row_copy_into(result, row, "previous_fingerprint", item->previous_fingerprint,
                             sizeof item->previous_fingerprint);
    }
    return PG_NEXT_DONE;
}

/* ---- release ----------------------------------------------------------------------------- */

bool pg_plain_fits_release(const struct pg_task *task)
{
    const struct release_item *items = task->request->u.release.items;
    for (size_t i = 0; i < task->request->u.release.count; i++)
        if (items[i].outcome == OUTCOME_NONE)
            return false;
    return task->step == 0 && task->request->u.release.count > 1;
}

void pg_plain_build_release(struct pg_task *task, struct pg_statement *statement)
{
    struct pg_column columns[RELEASE_COLUMNS] = {{.null_count = 0}};
    for (size_t i = 0; i < task->request->u.release.count; i++) {
        const struct release_item *item = &task->request->u.release.items[i];
        struct pg_column *column = columns;
        pg_column_add_text(column++, item->key);
        pg_column_add_text(column++, item->holder);
        pg_column_add_number(column++, item->fence);
        pg_column_add_text(column++, item->run_id);
        pg_column_add_text(column++, run_outcome_name(item->outcome));
        pg_column_add_number(column++, item->status < 0 ? NO_INSTANT : item->status);
    }
    pg_prepared_write(task, release_sql, pg_release_names(task), statement);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_column_hand_over(statement, columns, RELEASE_COLUMNS);
    pg_release_add_output_tails(task, statement);
}

/* Some were not ours, or released before: the whole statement, which may be repeated, says which.
 */
enum pg_next pg_plain_read_release(struct pg_task *task, const PGresult *result)
{
    struct release_item *items = task->request->u.release.items;
    int64_t count = (int64_t)task->request->u.release.count;
    if (pg_row_int64(result, 0, "freed", 0) != count ||
        pg_row_int64(result, 0, "written", 0) != count)
        return PG_NEXT_STEP;
    for (int64_t i = 0; i < count; i++) {
        items[i].verdict = RELEASE_RELEASED;
        items[i].is_recorded = true;
    }
    return PG_NEXT_DONE;
}
