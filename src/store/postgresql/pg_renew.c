/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "base/text.h"
#include "store/postgresql/pg_ops.h"
#include "store/postgresql/pg_prepared.h"
#include "store/postgresql/pg_row.h"
#include "store/postgresql/pg_sql.h"

#include <string.h>

/* UPDATE only: a renewal never takes a key back. The plain form waits for locks within the lock
 * timeout; one locked row of a batch would then cost all the others their renewal, so on 55P03 it
 * is sent again in a form that skips locked rows and tells which they are. */

#define IS_OURS                                                                                    \
    "lease.key {=} item.key AND lease.holder {=} item.holder AND lease.fence {=} item.fence"
#define IS_LIVE                                                                                    \
    "NOT lease.released AND NOT lease.revoked AND lease.expires_at {>} !clock_timestamp()"

#define ITEM                                                                                       \
    "WITH #settings"                                                                               \
    ", given AS MATERIALIZED (SELECT $2::!text[] AS keys, $3::!text[] AS holders, $4::!int8[] AS " \
    "fences, $5::!int8[] AS ttls FROM settings WHERE settings.lock_timeout IS NOT NULL)"           \
    ", item AS MATERIALIZED (SELECT !row_number() OVER () AS n, u.* FROM (SELECT "                 \
    "!unnest(given.keys) AS key, !unnest(given.holders) AS holder, "                               \
    "!unnest(given.fences) AS fence, !unnest(given.ttls) AS ttl_ms FROM given) AS u)"

#define PLAIN                                                                                      \
    ", renewed AS (UPDATE @leases AS lease SET ttl_ms = item.ttl_ms, "                             \
    "expires_at = !clock_timestamp() {+} #span(item.ttl_ms) "                                      \
    "FROM item WHERE " IS_OURS " AND " IS_LIVE " RETURNING lease.key)"                             \
    ", got AS MATERIALIZED (SELECT key FROM item)"

#define SKIPPING                                                                                   \
    ", got AS MATERIALIZED (SELECT lease.key, item.ttl_ms FROM item "                              \
    "JOIN @leases AS lease ON " IS_OURS " ORDER BY lease.key "                                     \
    "FOR NO KEY UPDATE OF lease SKIP LOCKED)"                                                      \
    ", renewed AS (UPDATE @leases AS lease SET ttl_ms = got.ttl_ms, "                              \
    "expires_at = !clock_timestamp() {+} #span(got.ttl_ms) "                                       \
    "FROM got WHERE lease.key {=} got.key AND " IS_LIVE " RETURNING lease.key)"

/* The row as it was before this statement. A row that was ours and live, and yet was not renewed,
 * changed in this instant or is locked: no verdict, ask again. */
#define ANSWER                                                                                     \
    " SELECT item.n, CASE WHEN renewed.key IS NOT NULL THEN 'renewed' "                            \
    "WHEN lease.key IS NULL THEN 'gone' "                                                          \
    "WHEN lease.holder {<>} item.holder OR lease.fence {<>} item.fence THEN 'taken' "              \
    "WHEN lease.released THEN 'gone' WHEN lease.revoked THEN 'revoked' "                           \
    "WHEN lease.expires_at {<=} !clock_timestamp() AND got.key IS NOT NULL THEN 'expired' "        \
    "ELSE 'locked' END AS verdict, "                                                               \
    "CASE WHEN NOT lease.released THEN lease.holder END AS other, #server "                        \
    "FROM item LEFT JOIN renewed ON renewed.key {=} item.key "                                     \
    "LEFT JOIN @leases AS lease ON lease.key {=} item.key "                                        \
    "LEFT JOIN got ON got.key {=} item.key ORDER BY item.n"

static const char plain_sql[] = ITEM PLAIN ANSWER;
static const char skipping_sql[] = ITEM SKIPPING ANSWER;

void pg_renew_build(struct pg_task *task, struct pg_statement *statement)
{
    const struct store_request *request = task->request;
    struct text keys = TEXT_INIT, holders = TEXT_INIT, fences = TEXT_INIT, ttls = TEXT_INIT;
    pg_array_begin(&keys);
    pg_array_begin(&holders);
    pg_array_begin(&fences);
    pg_array_begin(&ttls);
    for (size_t i = 0; i < request->u.renew.count; i++) {
        const struct renew_item *item = &request->u.renew.items[i];
        pg_array_add_text(&keys, item->key);
        pg_array_add_text(&holders, item->holder);
        pg_array_add_int64(&fences, item->fence);
        pg_array_add_int64(&ttls, item->ttl_ms);
    }
    if (task->skips_locked || request->u.renew.count == 1)
        statement->sql = pg_sql_expand(task->skips_locked ? skipping_sql : plain_sql, task->schema);
    else
        pg_prepared_write(task, plain_sql, NULL, statement);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_statement_add(statement, pg_ops_take_array(&keys));
    pg_statement_add(statement, pg_ops_take_array(&holders));
    pg_statement_add(statement, pg_ops_take_array(&fences));
    pg_statement_add(statement, pg_ops_take_array(&ttls));
}

bool pg_renew_take_other_way(struct pg_task *task, const char *sqlstate)
{
    bool is_new = !task->skips_locked && strcmp(sqlstate, "55P03") == 0;
    task->skips_locked = task->skips_locked || is_new;
    return is_new;
}

struct verdict_row {
    const char *name;
    enum renew_verdict verdict;
    enum lost_reason reason;
};

static const struct verdict_row verdict_rows[] = {
    {.name = "renewed", .verdict = RENEW_RENEWED},
    {.name = "locked", .verdict = RENEW_LOCKED},
    {.name = "taken", .verdict = RENEW_LOST, .reason = LOST_TAKEN},
    {.name = "revoked", .verdict = RENEW_LOST, .reason = LOST_REVOKED},
    {.name = "expired", .verdict = RENEW_LOST, .reason = LOST_EXPIRED},
    {.name = "gone", .verdict = RENEW_LOST, .reason = LOST_GONE},
};

void pg_renew_read_item(struct renew_item *item, const PGresult *result, int row)
{
    const char *name = pg_row_text(result, row, "verdict");
    item->verdict = RENEW_LOCKED;
    item->other[0] = '\0';
    for (size_t i = 0; i < sizeof verdict_rows / sizeof verdict_rows[0]; i++) {
        if (strcmp(name, verdict_rows[i].name) != 0)
            continue;
        item->verdict = verdict_rows[i].verdict;
        item->reason = verdict_rows[i].reason;
    }
    if (item->verdict == RENEW_LOST && item->reason == LOST_TAKEN)
        pg_row_copy_into(result, row, "other", item->other, sizeof item->other);
}

enum pg_next pg_renew_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    struct renew_item *items = task->request->u.renew.items;
    int count = (int)task->request->u.renew.count;
    if (PQntuples(result) != count) {
        error_set(err, ERROR_STORE, "the server answered %d of %d renewals", PQntuples(result),
                  count);
        return PG_NEXT_FAILED;
    }
    for (int i = 0; i < count; i++)
        pg_renew_read_item(&items[i], result, i);
    return PG_NEXT_DONE;
}
