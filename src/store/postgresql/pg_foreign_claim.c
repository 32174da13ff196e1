/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "base/now.h"
#include "base/text.h"
#include "store/postgresql/pg_foreign_ops.h"
#include "store/postgresql/pg_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- look -------------------------------------------------------------------------------- */

/* Before our own tables are asked: a key that is held in the other table alone need not be won in
 * ours and given back, at every try of every host. */
static const char look_sql[] =
    "WITH item AS MATERIALIZED (SELECT i.n, i.key, !clock_timestamp() AS now "
    "FROM !unnest($1::!text[]) WITH ORDINALITY AS i (key, n))"
    " SELECT item.n, (f.%key IS NOT NULL AND %bounded {>} item.now AND NOT %own_is_live) "
    "AS is_held, "
    "#ms(%bounded {-} item.now) AS wait_ms, #us(%began) AS held_since_us, f.%holder AS other, "
    "#server FROM item LEFT JOIN %table AS f ON f.%key {=} item.key%own_join "
    "ORDER BY item.n";

void pg_foreign_look_build(struct pg_task *task, struct pg_statement *statement)
{
    struct text keys = TEXT_INIT;
    statement->sql = pg_sql_expand_names(look_sql, task->schema, task->foreign->names);
    pg_array_begin(&keys);
    for (size_t i = 0; i < task->work->claim_count; i++)
        pg_array_add_text(&keys, task->work->claims[i]->key);
    pg_statement_add(statement, pg_ops_take_array(&keys));
}

/* Who holds it, or held it last. */
static void read_other(struct claim_item *item, const PGresult *result, int row)
{
    item->wait_ms = pg_row_int64(result, row, "wait_ms", 0);
    item->held_since_us = pg_row_int64(result, row, "held_since_us", NO_INSTANT);
    pg_row_copy_into(result, row, "other", item->other, sizeof item->other);
    pg_foreign_show_holder(item->other);
}

bool pg_foreign_is_judged_by_own(const struct claim_item *item)
{
    return item->slot_us != NO_INSTANT || item->is_once;
}

static bool check_count(const PGresult *result, size_t count, const char *what, struct error *err)
{
    return PQntuples(result) == (int)count ||
           error_set(err, ERROR_STORE, "the server answered %d of %zu %s", PQntuples(result), count,
                     what);
}

enum pg_next pg_foreign_look_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    struct pg_foreign_work *work = task->work;
    size_t left = 0;
    if (!check_count(result, work->claim_count, "claims", err))
        return PG_NEXT_FAILED;
    for (size_t i = 0; i < work->claim_count; i++) {
        struct claim_item *item = work->claims[i];
        if (pg_row_bool(result, (int)i, "is_held") && !pg_foreign_is_judged_by_own(item)) {
            item->verdict = CLAIM_HELD;
            item->is_on_hold = false;
            read_other(item, result, (int)i);
        } else {
            work->claims[left++] = item;
        }
    }
    work->claim_count = left;
    return PG_NEXT_DONE;
}

/* ---- claim ------------------------------------------------------------------------------- */

/* As the claim of our own (pg_claim.c): it looks first and takes no lock for what is held, then
 * tries, in the order of the keys, and judges once more under the row's lock by a fresh clock. A
 * lost reply is recovered by a higher attempt of the same holder, as long as it has not given the
 * key back; a late duplicate of its first attempt never wins. */
static const char item_sql[] =
    "WITH #settings"
    ", item AS MATERIALIZED (SELECT i.n, i.key, i.holder, i.attempt, i.ttl_ms, "
    "!replace(i.holder, %live_sign, %revoked_sign) AS revoked, "
    "!replace(i.holder, %live_sign, %released_sign) AS released, "
    "#instant($2::!int8) AS not_after, !clock_timestamp() AS now "
    "FROM settings CROSS JOIN ROWS FROM (!unnest($3::!text[]), !unnest($4::!text[]), "
    "!unnest($5::!int4[]), !unnest($6::!int8[])) WITH ORDINALITY "
    "AS i (key, holder, attempt, ttl_ms, n) WHERE settings.lock_timeout IS NOT NULL)";

static const char judged_sql[] =
    ", look AS MATERIALIZED (SELECT item.*, f.%key IS NOT NULL AS is_there, "
    "f.%holder::!text AS other, %began AS since, %bounded AS until "
    "FROM item LEFT JOIN %table AS f ON f.%key {=} item.key)"
    ", judged AS MATERIALIZED (SELECT look.*, CASE "
    "WHEN now {>} not_after THEN 'raced' "
    "WHEN NOT is_there THEN 'free' "
    "WHEN other {=} holder AND attempt {>} 1 THEN 'free' "
    "WHEN other {=} holder AND until {>} now THEN 'held' "
    "WHEN other {=} holder OR other {=} released OR other {=} revoked THEN 'raced' "
    "WHEN until {>} now THEN 'held' ELSE 'free' END AS verdict FROM look)";

static const char won_sql[] =
    ", won AS (INSERT INTO %table AS f (%key, %holder, %acquired, %expires) "
    "SELECT j.key, j.holder, t.now%acquired_zone, (t.now {+} #span(j.ttl_ms))%expires_zone "
    "FROM judged AS j CROSS JOIN LATERAL (SELECT !clock_timestamp() AS now) AS t "
    "WHERE j.verdict {=} 'free' ORDER BY j.key "
    "ON CONFLICT (%key) DO UPDATE SET %holder = EXCLUDED.%holder, "
    "%acquired = (!clock_timestamp())%acquired_zone, "
    "%expires = (!clock_timestamp() {+} (SELECT #span(j.ttl_ms) FROM judged AS j "
    "WHERE j.key {=} f.%key))%expires_zone "
    "WHERE !clock_timestamp() {<=} #instant($2::!int8) AND EXISTS (SELECT 1 FROM judged AS j "
    "WHERE j.key {=} f.%key AND CASE WHEN f.%holder {=} j.holder THEN j.attempt {>} 1 "
    "WHEN f.%holder {=} j.released OR f.%holder {=} j.revoked THEN false "
    "ELSE %until {<=} !clock_timestamp() END) RETURNING f.%key AS key)";

static const char answer_sql[] =
    " SELECT j.n, CASE WHEN won.key IS NOT NULL THEN 'won' "
    "WHEN j.verdict {=} 'held' THEN 'held' ELSE 'raced' END AS verdict, "
    "#ms(j.until {-} j.now) AS wait_ms, #us(j.since) AS held_since_us, j.other, "
    "(j.other {~} %released_form) AS is_on_hold, #server "
    "FROM judged AS j LEFT JOIN won ON won.key {=} j.key ORDER BY j.n";

/* As pg_claim.c's: after this the client has given the claim up. */
static int64_t not_after_us(const struct pg_task *task)
{
    int64_t limit_ms = task->limit_ms;
    for (size_t i = 0; i < task->work->claim_count; i++)
        if (task->work->claims[i]->limit_ms < limit_ms)
            limit_ms = task->work->claims[i]->limit_ms;
    return pg_server_now_us(task->server, now_boot_ms()) + limit_ms * 1000;
}

static void add_claims(const struct pg_task *task, struct pg_statement *statement)
{
    struct text keys = TEXT_INIT, holders = TEXT_INIT, attempts = TEXT_INIT, ttls = TEXT_INIT;
    pg_array_begin(&keys);
    pg_array_begin(&holders);
    pg_array_begin(&attempts);
    pg_array_begin(&ttls);
    for (size_t i = 0; i < task->work->claim_count; i++) {
        const struct claim_item *item = task->work->claims[i];
        char holder[IDENTITY_HOLDER_MAX];
        pg_foreign_holder(task->foreign, item->holder, holder);
        pg_array_add_text(&keys, item->key);
        pg_array_add_text(&holders, holder);
        pg_array_add_int64(&attempts, item->attempt);
        pg_array_add_int64(&ttls, item->ttl_ms);
    }
    pg_statement_add(statement, pg_ops_take_array(&keys));
    pg_statement_add(statement, pg_ops_take_array(&holders));
    pg_statement_add(statement, pg_ops_take_array(&attempts));
    pg_statement_add(statement, pg_ops_take_array(&ttls));
}

void pg_foreign_claim_build(struct pg_task *task, struct pg_statement *statement)
{
    struct text sql TEXT_AUTODONE = TEXT_INIT;
    text_add(&sql, item_sql);
    text_add(&sql, judged_sql);
    text_add(&sql, won_sql);
    text_add(&sql, answer_sql);
    statement->sql = pg_sql_expand_names(text_string(&sql), task->schema, task->foreign->names);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_statement_add(statement, mem_printf("%" PRId64, not_after_us(task)));
    add_claims(task, statement);
}

static void read_won(const struct pg_foreign *foreign, struct claim_item *item)
{
    item->verdict = CLAIM_WON;
    if (foreign->is_joined)
        return; /* fence and what was abandoned are our own tables' */
    item->fence = FENCE_ABSENT;
    item->other[0] = '\0';
    item->abandoned[0] = '\0';
    item->abandoned_fence = 0;
}

static void read_lost(struct claim_item *item, const PGresult *result, int row)
{
    bool is_held = strcmp(pg_row_text(result, row, "verdict"), "held") == 0;
    item->verdict = is_held ? CLAIM_HELD : CLAIM_RACED;
    item->is_on_hold = is_held && pg_row_bool(result, row, "is_on_hold");
    read_other(item, result, row);
}

/* Left are those that our own tables gave and this one did not. */
enum pg_next pg_foreign_claim_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    struct pg_foreign_work *work = task->work;
    size_t left = 0;
    if (!check_count(result, work->claim_count, "claims", err))
        return PG_NEXT_FAILED;
    for (size_t i = 0; i < work->claim_count; i++) {
        struct claim_item *item = work->claims[i];
        item->is_first_to_tell = false;
        if (strcmp(pg_row_text(result, (int)i, "verdict"), "won") == 0) {
            read_won(task->foreign, item);
            continue;
        }
        read_lost(item, result, (int)i);
        work->claims[left++] = item;
    }
    work->claim_count = left;
    return PG_NEXT_DONE;
}
