/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "base/text.h"
#include "store/postgresql/pg_ops.h"
#include "store/postgresql/pg_plain.h"
#include "store/postgresql/pg_quick.h"
#include "store/postgresql/pg_row.h"
#include "store/postgresql/pg_sql.h"

#include <inttypes.h>
#include <string.h>

/* Giving back: the row stays, is marked released and ends now. Should the server's clock stand
 * before acquired_at (it was stepped back), the end is not put before the beginning. The run's
 * outcome is written by a condition of its own: a lease that has run out takes no outcome away. */

#define ENDS_NOW                                                                                   \
    "released = true, "                                                                            \
    "expires_at = GREATEST(lease.acquired_at, LEAST(lease.expires_at, !clock_timestamp()))"

static const char item_sql[] =
    "WITH #settings"
    ", given AS MATERIALIZED (SELECT $2::!text[] AS keys, $3::!text[] AS holders, $4::!int8[] AS "
    "fences, $5::!text[] AS run_ids, $6::!text[] AS outcomes, $7::!int4[] AS statuss FROM "
    "settings WHERE settings.lock_timeout IS NOT NULL)"
    ", item AS MATERIALIZED (SELECT !row_number() OVER () AS n, u.* FROM (SELECT "
    "!unnest(given.keys) AS key, !unnest(given.holders) AS holder, "
    "!unnest(given.fences) AS fence, !unnest(given.run_ids) AS run_id, "
    "!unnest(given.outcomes) AS outcome, !unnest(given.statuss) AS status FROM given) AS u)";

/* Of the three answers: the rows lease and run are as they were before the statement. */

/* revoked, of a released row: its run has not told its end, and the next claim is to close it. */
static const char release_sql[] =
    ", freed AS (UPDATE @leases AS lease "
    "SET revoked = lease.revoked OR item.outcome IS NULL, " ENDS_NOW " FROM item "
    "WHERE lease.key {=} item.key AND lease.holder {=} item.holder "
    "AND lease.fence {=} item.fence AND NOT lease.released RETURNING lease.key, #wake)"
    ", written AS (UPDATE @runs AS run SET outcome = item.outcome, "
    "status = item.status%output_tail, finished_at = GREATEST(run.started_at, !clock_timestamp()) "
    "FROM item WHERE run.run_id {=} "
    "item.run_id "
    "AND run.fence {=} item.fence AND run.outcome IS NULL AND item.outcome IS NOT NULL "
    "RETURNING run.run_id)"
    " SELECT item.n, (freed.key IS NOT NULL OR (lease.holder {=} item.holder "
    "AND lease.fence {=} item.fence)) AS is_released, "
    "(written.run_id IS NOT NULL OR (run.fence {=} item.fence "
    "AND run.outcome {=} item.outcome)) AS is_recorded, #server "
    "FROM item LEFT JOIN freed ON freed.key {=} item.key "
    "LEFT JOIN written ON written.run_id {=} item.run_id "
    "LEFT JOIN @leases AS lease ON lease.key {=} item.key "
    "LEFT JOIN @runs AS run ON run.run_id {=} item.run_id ORDER BY item.n";

/* Fence 0: of a claim whose reply never came. Holder and run are new with every claim. What is left
 * of the run is a row that says it is over: a claim of it that is still on its way meets it, and
 * wins for nobody no more. It has no slot, so that the slot is open again, and no beginning. A run
 * that was taken over is interrupted again; a take-over of it that is still on its way is kept out
 * by its holder's name. */
static const char undo_sql[] =
    ", freed AS (UPDATE @leases AS lease SET slot = NULL, not_before = NULL, " ENDS_NOW
    " FROM item WHERE lease.key {=} item.key AND lease.holder {=} item.holder "
    "AND (item.fence {=} 0 OR lease.fence {=} item.fence) "
    "AND NOT lease.released RETURNING lease.key, #wake)"
    ", undone AS (INSERT INTO @runs AS run (run_id, key, is_once, fence, holder, attempt, "
    "finished_at, outcome) SELECT item.run_id, item.key, false, item.fence, item.holder, 0, "
    "!clock_timestamp(), 'not_started' FROM item ORDER BY item.run_id "
    "ON CONFLICT (run_id) DO UPDATE SET slot = CASE WHEN run.starts {>} 1 THEN run.slot END, "
    "started_at = CASE WHEN run.starts {>} 1 THEN run.started_at END, "
    "finished_at = EXCLUDED.finished_at, "
    "outcome = CASE WHEN run.starts {>} 1 THEN 'stopped' ELSE EXCLUDED.outcome END, "
    "starts = run.starts {-} 1 "
    "WHERE run.outcome IS NULL AND run.holder {=} EXCLUDED.holder AND (EXCLUDED.fence {=} 0 OR "
    "run.fence {=} EXCLUDED.fence) "
    "RETURNING run.run_id)"
    ", kept_out AS (UPDATE @runs AS run SET abandoned_by = item.holder FROM item "
    "WHERE run.run_id {=} item.run_id AND run.holder {<>} item.holder AND item.fence {=} 0 "
    "AND run.starts IS NOT NULL)"
    " SELECT item.n, (freed.key IS NOT NULL OR (lease.holder {=} item.holder "
    "AND (item.fence {=} 0 OR lease.fence {=} item.fence))) AS is_released, "
    "(undone.run_id IS NOT NULL OR (run.outcome {=} 'not_started' "
    "AND run.started_at IS NULL) OR (run.outcome {=} 'stopped' AND run.starts IS NOT NULL "
    "AND run.holder {=} item.holder)) AS is_recorded, #server "
    "FROM item LEFT JOIN freed ON freed.key {=} item.key "
    "LEFT JOIN undone ON undone.run_id {=} item.run_id "
    "LEFT JOIN @leases AS lease ON lease.key {=} item.key "
    "LEFT JOIN @runs AS run ON run.run_id {=} item.run_id ORDER BY item.n";

/* The run has not told its end: revoked says so to the next claim. */
static const char free_sql[] =
    ", freed AS (UPDATE @leases AS lease SET revoked = true, " ENDS_NOW " FROM item "
    "WHERE lease.key {=} item.key AND lease.holder {=} item.holder "
    "AND NOT lease.released RETURNING lease.key, #wake)"
    " SELECT item.n, (freed.key IS NOT NULL OR lease.holder {=} item.holder) AS is_released, "
    "false AS is_recorded, #server FROM item LEFT JOIN freed ON freed.key {=} item.key "
    "LEFT JOIN @leases AS lease ON lease.key {=} item.key ORDER BY item.n";

/* ---- output ------------------------------------------------------------------------------ */

static bool has_output_tail(const struct store_request *request)
{
    for (size_t i = 0; request->kind == STORE_RELEASE && i < request->u.release.count; i++)
        if (request->u.release.items[i].output_tail != NULL)
            return true;
    return false;
}

const struct pg_sql_name *pg_release_names(const struct pg_task *task)
{
    static const struct pg_sql_name with[] = {
        {"output_tail", ", output_tail = ($8::pg_catalog.bytea[])[pg_catalog.array_position("
                        "$5::pg_catalog.text[], item.run_id)]"},
        {NULL, NULL}};
    static const struct pg_sql_name without[] = {{"output_tail", ""}, {NULL, NULL}};
    return has_output_tail(task->request) ? with : without;
}

void pg_release_add_output_tails(const struct pg_task *task, struct pg_statement *statement)
{
    const struct store_request *request = task->request;
    struct text tails = TEXT_INIT;
    if (!has_output_tail(request))
        return;
    pg_array_begin(&tails);
    for (size_t i = 0; i < request->u.release.count; i++)
        pg_array_add_bytes(&tails, request->u.release.items[i].output_tail,
                           request->u.release.items[i].output_tail_length);
    pg_statement_add(statement, pg_ops_take_array(&tails));
}

/* ---- sending ----------------------------------------------------------------------------- */

enum column {
    COLUMN_KEY,
    COLUMN_HOLDER,
    COLUMN_FENCE,
    COLUMN_RUN_ID,
    COLUMN_OUTCOME,
    COLUMN_STATUS,
    COLUMN_COUNT
};

static void add_item(struct text columns[COLUMN_COUNT], const struct release_item *item)
{
    bool has_outcome = item->outcome != OUTCOME_NONE;
    pg_array_add_text(&columns[COLUMN_KEY], item->key);
    pg_array_add_text(&columns[COLUMN_HOLDER], item->holder);
    pg_array_add_int64(&columns[COLUMN_FENCE], item->fence);
    pg_array_add_text(&columns[COLUMN_RUN_ID], item->run_id);
    pg_array_add_text(&columns[COLUMN_OUTCOME],
                      has_outcome ? run_outcome_name(item->outcome) : NULL);
    pg_array_add_int64(&columns[COLUMN_STATUS], item->status < 0 ? NO_INSTANT : item->status);
}

static void build(struct pg_task *task, const char *rest, struct pg_statement *statement)
{
    const struct store_request *request = task->request;
    struct text sql TEXT_AUTODONE = TEXT_INIT;
    struct text columns[COLUMN_COUNT] = {{0}};
    text_add(&sql, item_sql);
    text_add(&sql, rest);
    statement->sql = pg_sql_expand_names(text_string(&sql), task->schema, pg_release_names(task));
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    for (int c = 0; c < COLUMN_COUNT; c++)
        pg_array_begin(&columns[c]);
    for (size_t i = 0; i < request->u.release.count; i++)
        add_item(columns, &request->u.release.items[i]);
    for (int c = 0; c < COLUMN_COUNT; c++)
        pg_statement_add(statement, pg_ops_take_array(&columns[c]));
    pg_release_add_output_tails(task, statement);
}

void pg_release_build(struct pg_task *task, struct pg_statement *statement)
{
    if (pg_quick_fits_release(task))
        pg_quick_build_release(task, statement);
    else if (pg_plain_fits_release(task))
        pg_plain_build_release(task, statement);
    else
        build(task, release_sql, statement);
}

void pg_undo_build(struct pg_task *task, struct pg_statement *statement)
{
    build(task, undo_sql, statement);
}

void pg_free_build(struct pg_task *task, struct pg_statement *statement)
{
    build(task, free_sql, statement);
}

/* A claim may have been committed while the statement waited for its row in runs, too late for its
 * look at the lease. Once more, to see it. */
static bool may_have_missed(const struct pg_task *task, const PGresult *result)
{
    const struct release_item *items = task->request->u.release.items;
    if (task->request->kind != STORE_UNDO || task->step > 0)
        return false;
    for (size_t i = 0; i < task->request->u.release.count; i++)
        if (items[i].fence == 0 && !pg_row_bool(result, (int)i, "is_released"))
            return true;
    return false;
}

enum pg_next pg_release_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    if (task->request->kind == STORE_RELEASE && pg_quick_fits_release(task))
        return pg_quick_read_release(task, result);
    if (task->request->kind == STORE_RELEASE && pg_plain_fits_release(task))
        return pg_plain_read_release(task, result);
    struct release_item *items = task->request->u.release.items;
    int count = (int)task->request->u.release.count;
    if (PQntuples(result) != count) {
        error_set(err, ERROR_STORE, "the server answered %d of %d releases", PQntuples(result),
                  count);
        return PG_NEXT_FAILED;
    }
    if (may_have_missed(task, result))
        return PG_NEXT_STEP;
    for (int i = 0; i < count; i++) {
        items[i].verdict =
            pg_row_bool(result, i, "is_released") ? RELEASE_RELEASED : RELEASE_NOT_OURS;
        items[i].is_recorded = pg_row_bool(result, i, "is_recorded");
    }
    return PG_NEXT_DONE;
}

/* ---- by hand ----------------------------------------------------------------------------- */

static const char revoke_sql[] =
    "WITH #settings, one AS MATERIALIZED (SELECT $2::!text AS key, $3::!bool AS is_stop "
    "FROM settings WHERE settings.lock_timeout IS NOT NULL)"
    ", freed AS (UPDATE @leases AS lease SET revoked = true, " ENDS_NOW " FROM one "
    "WHERE lease.key {=} one.key AND NOT lease.released "
    "AND lease.expires_at {<=} !clock_timestamp() RETURNING lease.key, #wake)"
    ", marked AS (UPDATE @leases AS lease SET revoked = true FROM one WHERE one.is_stop "
    "AND lease.key {=} one.key AND NOT lease.released AND NOT lease.revoked "
    "AND lease.expires_at {>} !clock_timestamp() RETURNING lease.key)"
    " SELECT CASE WHEN lease.key IS NULL THEN 'unknown' "
    "WHEN lease.released OR freed.key IS NOT NULL THEN 'freed' "
    "WHEN lease.revoked OR marked.key IS NOT NULL THEN 'marked' "
    "WHEN NOT one.is_stop THEN 'live' ELSE 'changed' END AS verdict, "
    "#ms(LEAST(lease.expires_at {-} !clock_timestamp(), #span(lease.ttl_ms))) AS wait_ms, "
    "lease.holder AS other, #server "
    "FROM one LEFT JOIN @leases AS lease ON lease.key {=} one.key "
    "LEFT JOIN freed ON freed.key {=} one.key LEFT JOIN marked ON marked.key {=} one.key";

void pg_revoke_build(struct pg_task *task, struct pg_statement *statement)
{
    const struct revoke *revoke = &task->request->u.revoke;
    statement->sql = pg_sql_expand(revoke_sql, task->schema);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_statement_add(statement, mem_strdup(revoke->key));
    pg_statement_add(statement, mem_strdup(revoke->is_stop ? "t" : "f"));
}

enum pg_next pg_revoke_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    struct revoke *revoke = &task->request->u.revoke;
    const char *verdict = pg_row_text(result, 0, "verdict");
    int64_t wait_ms = pg_row_int64(result, 0, "wait_ms", 0);
    revoke->wait_ms = 0;
    revoke->other[0] = '\0';
    if (strcmp(verdict, "unknown") == 0) {
        revoke->verdict = REVOKE_UNKNOWN;
        return PG_NEXT_DONE;
    }
    pg_row_copy_into(result, 0, "other", revoke->other, sizeof revoke->other);
    if (strcmp(verdict, "freed") == 0) {
        revoke->verdict = REVOKE_FREED;
        return PG_NEXT_DONE;
    }
    if (strcmp(verdict, "changed") == 0)
        return PG_NEXT_STEP; /* the row changed in this instant: look again */
    revoke->verdict = strcmp(verdict, "marked") == 0 ? REVOKE_MARKED : REVOKE_LIVE;
    revoke->wait_ms = wait_ms > 0 ? wait_ms : 0;
    return PG_NEXT_DONE;
}
