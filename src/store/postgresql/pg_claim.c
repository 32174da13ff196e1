/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "base/now.h"
#include "base/text.h"
#include "store/postgresql/pg_ops.h"
#include "store/postgresql/pg_plain.h"
#include "store/postgresql/pg_prepared.h"
#include "store/postgresql/pg_quick.h"
#include "store/postgresql/pg_row.h"
#include "store/postgresql/pg_sql.h"
#include "store/postgresql/pg_takeover.h"
#include "store/postgresql/pg_wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One statement for a whole batch. It looks first, without a lock: a claim that loses, as all
 * replicas but one do at every tick, writes no WAL and takes no transaction id. Only what looks
 * free is then tried, in the order of the keys (no deadlocks between batches), and judged once
 * more under the row's lock, by a fresh clock:
 *
 * - by another holder: only if the row still is the mandate that was looked at, so that what the
 *   look found out about runs and slots still holds;
 * - by the same holder (a reply was lost): only with a higher attempt and while not released.
 *
 * The fence is drawn under the lock. A value drawn before the wait could be lower than the row's,
 * or be given again after a purge. */

/* $2: not_after; then one array for each column */
#define ITEM                                                                                       \
    ", given AS MATERIALIZED (SELECT $3::!text[] AS keys, $4::!text[] AS holders, $5::!text[] AS " \
    "run_ids, $6::!text[] AS jobs, $7::!int4[] AS attempts, $8::!int8[] AS ttls, $9::!int8[] AS "  \
    "holds, $10::!int8[] AS slots, $11::!int8[] AS start_withins, $12::!bool[] AS is_onces, "      \
    "$13::!bool[] AS is_skippings, $14::!text[] AS fingerprints, $15::!int4[] AS startss, "        \
    "$16::!bool[] AS is_by_hands FROM settings WHERE "                                             \
    "settings.lock_timeout IS NOT NULL)"                                                           \
    ", item AS MATERIALIZED ("                                                                     \
    "SELECT i.n, i.key, i.holder, i.run_id, i.job, i.attempt, i.ttl_ms, i.hold_ms, "               \
    "i.start_within_ms, i.is_once, i.is_skipping, i.fingerprint, i.starts, i.is_by_hand, "         \
    "#instant(i.slot_us) AS slot, "                                                                \
    "#instant($2::!int8) AS not_after, !clock_timestamp() AS now "                                 \
    "FROM given CROSS JOIN LATERAL (SELECT !row_number() OVER () AS n, u.* FROM (SELECT "          \
    "!unnest(given.keys) AS key, !unnest(given.holders) AS holder, "                               \
    "!unnest(given.run_ids) AS run_id, !unnest(given.jobs) AS job, "                               \
    "!unnest(given.attempts) AS attempt, !unnest(given.ttls) AS ttl_ms, "                          \
    "!unnest(given.holds) AS hold_ms, !unnest(given.slots) AS slot_us, "                           \
    "!unnest(given.start_withins) AS start_within_ms, !unnest(given.is_onces) AS is_once, "        \
    "!unnest(given.is_skippings) AS is_skipping, !unnest(given.fingerprints) AS fingerprint, "     \
    "!unnest(given.startss) AS starts, !unnest(given.is_by_hands) AS is_by_hand) AS u) AS i)"

#define LOOK                                                                                       \
    ", look AS MATERIALIZED ("                                                                     \
    "SELECT item.*, lease.key AS lease_key, lease.holder AS lease_holder, "                        \
    "lease.run_id AS lease_run_id, lease.attempt AS lease_attempt, lease.acquired_at, "            \
    "lease.released, lease.revoked, lease.not_before, lease.slot AS lease_slot, "                  \
    "lease.fingerprint AS lease_fingerprint, "                                                     \
    "LEAST(lease.expires_at, item.now {+} #span(lease.ttl_ms)) AS expires_at, "                    \
    "lease.expires_at {>} (item.now {+} #span(lease.ttl_ms)) AS is_too_long, "                     \
    "own.run_id AS own_run_id, own.holder AS own_holder, own.outcome AS own_outcome, "             \
    "other.run_id AS slot_run_id, other.outcome AS slot_outcome, "                                 \
    "item.is_by_hand AND other.outcome {=} ANY ('{missed,skipped}'::!text[]) AS is_made_up, "      \
    "CASE WHEN item.is_once THEN (SELECT true FROM @runs AS once WHERE once.is_once "              \
    "AND once.key {=} item.key AND once.outcome {=} 'succeeded' LIMIT 1) END AS has_succeeded "    \
    "FROM item LEFT JOIN @leases AS lease ON lease.key {=} item.key "                              \
    "LEFT JOIN @runs AS own ON own.run_id {=} item.run_id "                                        \
    "LEFT JOIN @runs AS other ON other.key {=} item.key AND other.slot {=} item.slot "             \
    "AND other.run_id {<>} item.run_id)"

/* First come late duplicates: of a run that is over or was taken over, of a claim that was given
 * up, of a claim of one's own. A slot that the lease's row names and no run does is one whose run
 * was purged. Only a live lease makes a claim give its slot up: a hold ends when it was said to. */
#define JUDGED                                                                                     \
    ", judged AS MATERIALIZED (SELECT look.*, CASE "                                               \
    "WHEN own_outcome {<>} ALL ('{missed,skipped}'::!text[]) OR own_holder {<>} holder "           \
    "OR now {>} not_after THEN 'raced' "                                                           \
    "WHEN lease_holder {=} holder AND NOT released AND NOT revoked AND attempt {>} lease_attempt " \
    "THEN 'free' "                                                                                 \
    "WHEN lease_holder {=} holder AND NOT released AND expires_at {>} now THEN 'held' "            \
    "WHEN lease_holder {=} holder THEN 'raced' "                                                   \
    "WHEN slot {>} (now {+} '1 second'::!interval) THEN 'early' "                                  \
    "WHEN COALESCE(own_outcome, slot_outcome) {=} ANY ('{missed,skipped}'::!text[]) "              \
    "AND is_made_up IS NOT TRUE THEN COALESCE(own_outcome, slot_outcome) "                         \
    "WHEN (slot_run_id IS NOT NULL AND is_made_up IS NOT TRUE) OR lease_slot {=} slot OR "         \
    "has_succeeded THEN 'done' "                                                                   \
    "WHEN start_within_ms {>=} 0 AND (slot {+} #span(start_within_ms)) {<} now THEN 'missed' "     \
    "WHEN lease_key IS NULL THEN 'free' "                                                          \
    "WHEN is_skipping AND slot IS NOT NULL AND NOT released AND expires_at {>} now THEN "          \
    "'skipped' "                                                                                   \
    "WHEN NOT released AND expires_at {>} now THEN 'held' "                                        \
    "WHEN not_before {>} now AND acquired_at {<=} now THEN 'held' "                                \
    "ELSE 'free' END AS verdict FROM look)"

/* No lease lasts longer than its ttl: this one was written before the server's clock was stepped
 * back. Should its holder be dead, nobody else would ever shorten it. */
#define SHORTENED                                                                                  \
    ", shortened AS (UPDATE @leases AS lease SET "                                                 \
    "expires_at = !clock_timestamp() {+} #span(lease.ttl_ms) FROM judged AS j "                    \
    "WHERE j.verdict {=} 'held' AND j.is_too_long AND lease.key {=} j.key AND NOT lease.released " \
    "AND lease.expires_at {>} (!clock_timestamp() {+} #span(lease.ttl_ms)))"

/* Instead, once a row of a batch was found locked for too long: its claim is raced, and the others
 * go on. It costs them a second write, and so is not done before. */
#define LOCKABLE                                                                                   \
    ", lockable AS MATERIALIZED (SELECT lease.key FROM judged AS j "                               \
    "JOIN @leases AS lease ON lease.key {=} j.key WHERE j.verdict {=} 'free' ORDER BY lease.key "  \
    "FOR NO KEY UPDATE OF lease SKIP LOCKED)"
#define ONLY_LOCKABLE                                                                              \
    "AND (j.lease_key IS NULL OR j.key {=} ANY (SELECT lockable.key FROM lockable)) "

/* A hold from before the server's clock was stepped back is none. */
#define WON                                                                                        \
    ", won AS ("                                                                                   \
    "INSERT INTO @leases AS lease (key, holder, run_id, previous_run_id, fence, attempt, "         \
    "acquired_at, expires_at, not_before, released, revoked, slot, ttl_ms, fingerprint) "          \
    "SELECT j.key, j.holder, j.run_id, j.lease_run_id, !nextval(@@fence_seq), j.attempt, t.now, "  \
    "t.now {+} #span(j.ttl_ms), CASE WHEN j.hold_ms {>} 0 THEN t.now {+} #span(j.hold_ms) END, "   \
    "false, false, j.slot, j.ttl_ms, j.fingerprint "                                               \
    "FROM judged AS j CROSS JOIN LATERAL (SELECT !clock_timestamp() AS now) AS t "                 \
    "WHERE j.verdict {=} 'free' "
#define IN_ORDER                                                                                   \
    "ORDER BY j.key "                                                                              \
    "ON CONFLICT (key) DO UPDATE SET holder = EXCLUDED.holder, run_id = EXCLUDED.run_id, "         \
    "previous_run_id = CASE WHEN lease.run_id {=} EXCLUDED.run_id THEN lease.previous_run_id "     \
    "ELSE lease.run_id END, "                                                                      \
    "fence = GREATEST(!nextval(@@fence_seq), lease.fence {+} 1), attempt = EXCLUDED.attempt, "     \
    "acquired_at = !clock_timestamp(), "                                                           \
    "expires_at = !clock_timestamp() {+} #span(EXCLUDED.ttl_ms), "                                 \
    "not_before = !clock_timestamp() {+} #span(#ms(EXCLUDED.not_before {-} "                       \
    "EXCLUDED.acquired_at)), "                                                                     \
    "released = false, revoked = false, waited = false, slot = COALESCE(EXCLUDED.slot, "           \
    "lease.slot), "                                                                                \
    "ttl_ms = EXCLUDED.ttl_ms, "                                                                   \
    "fingerprint = COALESCE(EXCLUDED.fingerprint, lease.fingerprint) "                             \
    "WHERE !clock_timestamp() {<=} #instant($2::!int8) AND ("                                      \
    "(lease.holder {=} EXCLUDED.holder AND lease.attempt {<} EXCLUDED.attempt "                    \
    "AND NOT lease.released AND NOT lease.revoked) "                                               \
    "OR (lease.holder {<>} EXCLUDED.holder AND lease.run_id {=} EXCLUDED.previous_run_id "         \
    "AND (lease.released OR lease.expires_at {<=} !clock_timestamp()) "                            \
    "AND (lease.not_before {>} !clock_timestamp() AND lease.acquired_at {<=} !clock_timestamp()) " \
    "IS NOT TRUE AND (lease.slot {=} EXCLUDED.slot) IS NOT TRUE)) "                                \
    "RETURNING lease.key, lease.fence, lease.previous_run_id, lease.acquired_at)"

/* made_up: the row of a slot that nobody had started becomes this run's.
 * started: should the run's row have been written since the look, the statement fails (23505).
 * again: the claim whose reply was lost. closed: the unfinished run of a holder that is gone; told
 * again when our reply was lost. */
#define RUNS                                                                                       \
    ", made_up AS ("                                                                               \
    "UPDATE @runs AS run SET run_id = j.run_id, job = j.job, is_once = j.is_once, "                \
    "fence = won.fence, holder = j.holder, attempt = j.attempt, started_at = won.acquired_at, "    \
    "finished_at = NULL, outcome = NULL, starts = j.starts "                                       \
    "FROM won JOIN judged AS j ON j.key {=} won.key WHERE j.is_made_up "                           \
    "AND run.run_id {=} j.slot_run_id AND run.outcome {=} j.slot_outcome RETURNING run.run_id)"    \
    ", started AS ("                                                                               \
    "INSERT INTO @runs (run_id, key, job, slot, is_once, fence, holder, attempt, "                 \
    "started_at, starts) SELECT j.run_id, j.key, j.job, j.slot, j.is_once, won.fence, j.holder, "  \
    "j.attempt, won.acquired_at, j.starts FROM won JOIN judged AS j ON j.key {=} won.key "         \
    "LEFT JOIN made_up ON made_up.run_id {=} j.run_id "                                            \
    "WHERE j.own_run_id IS NULL AND made_up.run_id IS NULL)"                                       \
    ", again AS ("                                                                                 \
    "UPDATE @runs AS run SET fence = won.fence, attempt = j.attempt "                              \
    "FROM won JOIN judged AS j ON j.key {=} won.key "                                              \
    "WHERE run.run_id {=} j.own_run_id AND run.outcome IS NULL)"                                   \
    ", closed AS ("                                                                                \
    "UPDATE @runs AS run SET outcome = 'abandoned', abandoned_by = j.run_id, "                     \
    "finished_at = COALESCE(run.finished_at, GREATEST(run.started_at, !clock_timestamp())) "       \
    "FROM won JOIN judged AS j ON j.key {=} won.key WHERE run.run_id {=} won.previous_run_id "     \
    "AND (run.outcome IS NULL OR run.abandoned_by {=} j.run_id) "                                  \
    "RETURNING run.key, run.run_id, run.fence, run.holder)"                                        \
    ", not_started AS ("                                                                           \
    "INSERT INTO @runs (run_id, key, job, slot, is_once, fence, holder, attempt, finished_at, "    \
    "outcome) SELECT j.run_id, j.key, j.job, j.slot, j.is_once, 0, j.holder, j.attempt, "          \
    "!clock_timestamp(), j.verdict FROM judged AS j "                                              \
    "WHERE j.verdict {=} ANY ('{missed,skipped}'::!text[]) "                                       \
    "AND j.own_run_id IS NULL AND j.slot_run_id IS NULL ORDER BY j.key "                           \
    "ON CONFLICT DO NOTHING RETURNING run_id)"

#define ANSWER                                                                                     \
    " SELECT j.n, CASE WHEN j.verdict {=} 'free' AND won.key IS NOT NULL THEN 'won' "              \
    "WHEN j.verdict {=} 'free' THEN 'raced' "                                                      \
    "WHEN j.verdict {=} ANY ('{missed,skipped}'::!text[]) AND j.own_run_id IS NULL "               \
    "AND j.slot_run_id IS NULL AND not_started.run_id IS NULL THEN 'raced' ELSE j.verdict END AS " \
    "verdict, won.fence, "                                                                         \
    "CASE WHEN j.verdict {=} 'early' THEN #ms(j.slot {-} j.now) "                                  \
    "WHEN NOT j.released AND j.expires_at {>} j.now THEN #ms(j.expires_at {-} j.now) "             \
    "ELSE #ms(j.not_before {-} j.now) END AS wait_ms, #us(j.acquired_at) AS held_since_us, "       \
    "COALESCE(closed.holder, j.lease_holder) AS other, closed.run_id AS abandoned, "               \
    "closed.fence AS abandoned_fence, (j.released OR j.expires_at {<=} j.now) AS is_on_hold, "     \
    "(not_started.run_id IS NOT NULL OR j.own_run_id IS NOT NULL) AS is_first_to_tell, "           \
    "j.lease_fingerprint AS previous_fingerprint, #server "                                        \
    "FROM judged AS j LEFT JOIN won ON won.key {=} j.key "                                         \
    "LEFT JOIN closed ON closed.key {=} j.key "                                                    \
    "LEFT JOIN not_started ON not_started.run_id {=} j.run_id "                                    \
    "ORDER BY j.n"

static const char whole_sql[] =
    "WITH #settings" ITEM LOOK JUDGED SHORTENED WON IN_ORDER RUNS ANSWER;
static const char skipping_sql[] =
    "WITH #settings" ITEM LOOK JUDGED LOCKABLE WON ONLY_LOCKABLE IN_ORDER RUNS ANSWER;

/* ---- sending ----------------------------------------------------------------------------- */

/* Not later than this by the server's clock: after it the client has given the claim up. */
static int64_t not_after_us(const struct pg_task *task)
{
    const struct store_request *request = task->request;
    int64_t limit_ms = task->limit_ms;
    for (size_t i = 0; i < request->u.claim.count; i++)
        if (request->u.claim.items[i].limit_ms < limit_ms)
            limit_ms = request->u.claim.items[i].limit_ms;
    return pg_server_now_us(task->server, now_boot_ms()) + limit_ms * 1000;
}

static void add_texts(struct pg_statement *statement, const struct store_request *request,
                      const char *(*get)(const struct claim_item *item))
{
    struct text array = TEXT_INIT;
    pg_array_begin(&array);
    for (size_t i = 0; i < request->u.claim.count; i++)
        pg_array_add_text(&array, get(&request->u.claim.items[i]));
    pg_statement_add(statement, pg_ops_take_array(&array));
}

static void add_numbers(struct pg_statement *statement, const struct store_request *request,
                        int64_t (*get)(const struct claim_item *item))
{
    struct text array = TEXT_INIT;
    pg_array_begin(&array);
    for (size_t i = 0; i < request->u.claim.count; i++)
        pg_array_add_int64(&array, get(&request->u.claim.items[i]));
    pg_statement_add(statement, pg_ops_take_array(&array));
}

static const char *get_key(const struct claim_item *item)
{
    return item->key;
}

static const char *get_holder(const struct claim_item *item)
{
    return item->holder;
}

static const char *get_run_id(const struct claim_item *item)
{
    return item->run_id;
}

static const char *get_job(const struct claim_item *item)
{
    return item->job;
}

static const char *get_is_once(const struct claim_item *item)
{
    return item->is_once ? "t" : "f";
}

static const char *get_is_skipping(const struct claim_item *item)
{
    return item->is_skipping ? "t" : "f";
}

static const char *get_is_by_hand(const struct claim_item *item)
{
    return item->is_by_hand ? "t" : "f";
}

static const char *get_fingerprint(const struct claim_item *item)
{
    return item->fingerprint;
}

static int64_t get_attempt(const struct claim_item *item)
{
    return item->attempt;
}

static int64_t get_ttl(const struct claim_item *item)
{
    return item->ttl_ms;
}

static int64_t get_hold(const struct claim_item *item)
{
    return item->hold_ms;
}

static int64_t get_slot(const struct claim_item *item)
{
    return item->slot_us;
}

static int64_t get_starts(const struct claim_item *item)
{
    return item->is_rerun ? 1 : NO_INSTANT;
}

static int64_t get_start_within(const struct claim_item *item)
{
    return item->start_within_ms;
}

void pg_claim_build(struct pg_task *task, struct pg_statement *statement)
{
    const struct store_request *request = task->request;
    if (pg_wait_is_under_way(task)) {
        pg_wait_build(task, statement);
        return;
    }
    if (pg_takeover_fits(task)) {
        pg_takeover_build(task, not_after_us(task), statement);
        return;
    }
    if (pg_quick_fits_claim(task)) {
        pg_quick_build_claim(task, not_after_us(task), statement);
        return;
    }
    if (pg_plain_fits_claim(task)) {
        pg_plain_build_claim(task, not_after_us(task), statement);
        return;
    }
    if (task->skips_locked)
        statement->sql = pg_sql_expand(skipping_sql, task->schema);
    else
        pg_prepared_write(task, whole_sql, NULL, statement);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_statement_add(statement, mem_printf("%" PRId64, not_after_us(task)));
    add_texts(statement, request, get_key);
    add_texts(statement, request, get_holder);
    add_texts(statement, request, get_run_id);
    add_texts(statement, request, get_job);
    add_numbers(statement, request, get_attempt);
    add_numbers(statement, request, get_ttl);
    add_numbers(statement, request, get_hold);
    add_numbers(statement, request, get_slot);
    add_numbers(statement, request, get_start_within);
    add_texts(statement, request, get_is_once);
    add_texts(statement, request, get_is_skipping);
    add_texts(statement, request, get_fingerprint);
    add_numbers(statement, request, get_starts);
    add_texts(statement, request, get_is_by_hand);
}

/* 23505 of a short form: the run or the slot has a row already, which the whole form judges. */
bool pg_claim_take_other_way(struct pg_task *task, const char *sqlstate)
{
    bool is_short = pg_quick_fits_claim(task) || pg_plain_fits_claim(task);
    bool is_locked =
        task->request->u.claim.count > 1 && !task->skips_locked && strcmp(sqlstate, "55P03") == 0;
    task->skips_locked = task->skips_locked || is_locked;
    return is_locked || (is_short && strcmp(sqlstate, "23505") == 0);
}

/* ---- reading ----------------------------------------------------------------------------- */

static enum claim_verdict read_verdict(const char *name)
{
    static const char *const names[CLAIM_VERDICT_COUNT] = {
        [CLAIM_WON] = "won",     [CLAIM_HELD] = "held",     [CLAIM_DONE] = "done",
        [CLAIM_EARLY] = "early", [CLAIM_MISSED] = "missed", [CLAIM_SKIPPED] = "skipped",
        [CLAIM_RACED] = "raced",
    };
    for (int i = 0; i < CLAIM_VERDICT_COUNT; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum claim_verdict)i;
    return CLAIM_RACED;
}

static bool may_be_told(const struct claim_item *item)
{
    bool is_given_up = item->verdict == CLAIM_DONE && item->interrupted_fence != 0;
    return item->verdict == CLAIM_MISSED || item->verdict == CLAIM_SKIPPED || is_given_up;
}

static void read_item(struct claim_item *item, const PGresult *result, int row)
{
    item->verdict = read_verdict(pg_row_text(result, row, "verdict"));
    item->fence = pg_row_int64(result, row, "fence", 0);
    if (item->verdict == CLAIM_WON && item->fence <= 0)
        item->verdict = CLAIM_RACED; /* no mandate without its number */
    item->wait_ms = pg_row_int64(result, row, "wait_ms", 0);
    item->held_since_us = pg_row_int64(result, row, "held_since_us", NO_INSTANT);
    item->is_on_hold = item->verdict == CLAIM_HELD && pg_row_bool(result, row, "is_on_hold");
    pg_row_copy_into(result, row, "other", item->other, sizeof item->other);
    pg_row_copy_into(result, row, "abandoned", item->abandoned, sizeof item->abandoned);
    item->abandoned_fence = pg_row_int64(result, row, "abandoned_fence", 0);
    item->is_first_to_tell = may_be_told(item) && pg_row_bool(result, row, "is_first_to_tell");
    item->starts = pg_row_int64(result, row, "starts", 0);
    pg_row_copy_into(result, row, "previous_fingerprint", item->previous_fingerprint,
                     sizeof item->previous_fingerprint);
    bool is_plain = item->interrupted_fence == 0;
    if (item->verdict == CLAIM_WON && item->abandoned[0] == '\0' && is_plain)
        item->other[0] = '\0';
}

enum pg_next pg_claim_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    struct claim_item *items = task->request->u.claim.items;
    int count = (int)task->request->u.claim.count;
    if (pg_wait_is_under_way(task))
        return pg_wait_read(task, result);
    if (pg_quick_fits_claim(task))
        return pg_quick_read_claim(task, result);
    if (pg_plain_fits_claim(task))
        return pg_plain_read_claim(task, result);
    if (PQntuples(result) != count) {
        error_set(err, ERROR_STORE, "the server answered %d of %d claims", PQntuples(result),
                  count);
        return PG_NEXT_FAILED;
    }
    for (int i = 0; i < count; i++)
        read_item(&items[i], result, i);
    return pg_wait_begin(task);
}
