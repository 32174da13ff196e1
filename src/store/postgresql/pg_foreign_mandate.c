/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "base/text.h"
#include "store/postgresql/pg_foreign_ops.h"
#include "store/postgresql/pg_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Whoever keeps the table may demand that the end lies after the beginning (CHECK): it does, even
 * when the server's clock was stepped back, by the least that the columns can tell apart. */
#define AFTER_BEGINNING "(%since {+} %least_span)"

/* ---- renew ------------------------------------------------------------------------------- */

#define IS_LIVE_OURS                                                                               \
    "f.%key {=} item.key AND f.%holder {=} item.holder AND %until {>} !clock_timestamp()"
#define RENEWED_END                                                                                \
    "(GREATEST(!clock_timestamp() {+} #span(item.ttl_ms), " AFTER_BEGINNING "))%expires_zone"

static const char renew_item_sql[] =
    "WITH #settings"
    ", item AS MATERIALIZED (SELECT i.n, i.key, i.holder, i.ttl_ms, "
    "!replace(i.holder, %live_sign, %revoked_sign) AS revoked, "
    "!replace(i.holder, %live_sign, %released_sign) AS released "
    "FROM settings CROSS JOIN ROWS FROM (!unnest($2::!text[]), !unnest($3::!text[]), "
    "!unnest($4::!int8[])) WITH ORDINALITY AS i (key, holder, ttl_ms, n) "
    "WHERE settings.lock_timeout IS NOT NULL)";

static const char plain_sql[] =
    ", got AS MATERIALIZED (SELECT item.key FROM item)"
    ", renewed AS (UPDATE %table AS f SET %expires = " RENEWED_END " FROM item "
    "WHERE " IS_LIVE_OURS " RETURNING item.key)";

/* As pg_renew.c: one locked row must not cost the others their renewal. */
static const char skipping_sql[] =
    ", got AS MATERIALIZED (SELECT item.key FROM item JOIN %table AS f ON f.%key {=} item.key "
    "AND f.%holder {=} item.holder ORDER BY item.key FOR NO KEY UPDATE OF f SKIP LOCKED)"
    ", renewed AS (UPDATE %table AS f SET %expires = " RENEWED_END " FROM item "
    "JOIN got ON got.key {=} item.key WHERE " IS_LIVE_OURS " RETURNING item.key)";

static const char renew_answer_sql[] =
    " SELECT item.n, CASE WHEN renewed.key IS NOT NULL THEN 'renewed' "
    "WHEN f.%key IS NULL OR f.%holder {=} item.released THEN 'gone' "
    "WHEN f.%holder {=} item.revoked THEN 'revoked' "
    "WHEN f.%holder {=} item.holder AND %until {<=} !clock_timestamp() AND got.key IS NOT NULL "
    "THEN 'expired' WHEN f.%holder {=} item.holder THEN 'locked' ELSE 'taken' END AS verdict, "
    "CASE WHEN %until {>} !clock_timestamp() THEN f.%holder END AS other, #server "
    "FROM item LEFT JOIN renewed ON renewed.key {=} item.key "
    "LEFT JOIN %table AS f ON f.%key {=} item.key "
    "LEFT JOIN got ON got.key {=} item.key ORDER BY item.n";

bool pg_foreign_is_to_renew(const struct pg_task *task, const struct renew_item *item)
{
    return !task->foreign->is_joined || item->verdict == RENEW_RENEWED;
}

void pg_foreign_renew_build(struct pg_task *task, struct pg_statement *statement)
{
    const struct store_request *request = task->request;
    struct text sql TEXT_AUTODONE = TEXT_INIT;
    struct text keys = TEXT_INIT, holders = TEXT_INIT, ttls = TEXT_INIT;
    text_add(&sql, renew_item_sql);
    text_add(&sql, task->work->is_skipping_locked ? skipping_sql : plain_sql);
    text_add(&sql, renew_answer_sql);
    pg_array_begin(&keys);
    pg_array_begin(&holders);
    pg_array_begin(&ttls);
    for (size_t i = 0; i < request->u.renew.count; i++) {
        const struct renew_item *item = &request->u.renew.items[i];
        char holder[IDENTITY_HOLDER_MAX];
        if (!pg_foreign_is_to_renew(task, item))
            continue;
        pg_foreign_holder(task->foreign, item->holder, holder);
        pg_array_add_text(&keys, item->key);
        pg_array_add_text(&holders, holder);
        pg_array_add_int64(&ttls, item->ttl_ms);
    }
    statement->sql = pg_sql_expand_names(text_string(&sql), task->schema, task->foreign->names);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_statement_add(statement, pg_ops_take_array(&keys));
    pg_statement_add(statement, pg_ops_take_array(&holders));
    pg_statement_add(statement, pg_ops_take_array(&ttls));
}

static void read_renewal(struct renew_item *item, const PGresult *result, int row)
{
    pg_renew_read_item(item, result, row);
    if (item->other[0] != '\0')
        pg_foreign_show_holder(item->other);
}

enum pg_next pg_foreign_renew_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    struct renew_item *items = task->request->u.renew.items;
    size_t count = task->request->u.renew.count;
    int wanted = 0, row = 0;
    for (size_t i = 0; i < count; i++)
        wanted += pg_foreign_is_to_renew(task, &items[i]) ? 1 : 0;
    if (PQntuples(result) != wanted) {
        error_set(err, ERROR_STORE, "the server answered %d of %d renewals", PQntuples(result),
                  wanted);
        return PG_NEXT_FAILED;
    }
    for (size_t i = 0; i < count; i++)
        if (pg_foreign_is_to_renew(task, &items[i]))
            read_renewal(&items[i], result, row++);
    return PG_NEXT_DONE;
}

/* ---- release, undo, free ----------------------------------------------------------------- */

bool pg_foreign_is_to_release(const struct pg_task *task, const struct release_item *item)
{
    return !task->foreign->is_joined || item->verdict == RELEASE_RELEASED;
}

/* It ends now, or where it was kept for longer (hold-at-least). A mandate that was revoked is given
 * back too, so that the key is free as soon as the command has ended. */
static const char release_sql[] =
    "WITH #settings"
    ", item AS MATERIALIZED (SELECT i.n, i.key, i.holder, i.own_holder, i.hold_ms, "
    "!replace(i.holder, %live_sign, %revoked_sign) AS revoked, "
    "!replace(i.holder, %live_sign, %released_sign) AS released "
    "FROM settings CROSS JOIN ROWS FROM (!unnest($2::!text[]), !unnest($3::!text[]), "
    "!unnest($4::!text[]), !unnest($5::!int8[])) WITH ORDINALITY "
    "AS i (key, holder, own_holder, hold_ms, n) WHERE settings.lock_timeout IS NOT NULL)"
    ", freed AS (UPDATE %table AS f SET %holder = item.released, "
    "%expires = (GREATEST(" AFTER_BEGINNING ", LEAST(%until, !clock_timestamp()), "
    "%since {+} #span(item.hold_ms), %own_hold))%expires_zone FROM item "
    "WHERE f.%key {=} item.key AND (f.%holder {=} item.holder OR f.%holder {=} item.revoked) "
    "RETURNING item.key)"
    " SELECT item.n, (freed.key IS NOT NULL OR (f.%holder {=} item.released) IS TRUE) "
    "AS is_released, #server FROM item LEFT JOIN freed ON freed.key {=} item.key "
    "LEFT JOIN %table AS f ON f.%key {=} item.key ORDER BY item.n";

/* $5 is NULL where there is no hold. An undone claim has none. */
void pg_foreign_release_build(struct pg_task *task, struct pg_statement *statement)
{
    const struct store_request *request = task->request;
    struct text keys = TEXT_INIT, holders = TEXT_INIT, own = TEXT_INIT, holds = TEXT_INIT;
    pg_array_begin(&keys);
    pg_array_begin(&holders);
    pg_array_begin(&own);
    pg_array_begin(&holds);
    for (size_t i = 0; i < request->u.release.count; i++) {
        const struct release_item *item = &request->u.release.items[i];
        char holder[IDENTITY_HOLDER_MAX];
        if (!pg_foreign_is_to_release(task, item))
            continue;
        pg_foreign_holder(task->foreign, item->holder, holder);
        pg_array_add_text(&keys, item->key);
        pg_array_add_text(&holders, holder);
        pg_array_add_text(&own, item->holder);
        pg_array_add_int64(&holds, request->kind == STORE_UNDO ? 0 : item->hold_ms);
    }
    statement->sql = pg_sql_expand_names(release_sql, task->schema, task->foreign->names);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_statement_add(statement, pg_ops_take_array(&keys));
    pg_statement_add(statement, pg_ops_take_array(&holders));
    pg_statement_add(statement, pg_ops_take_array(&own));
    pg_statement_add(statement, pg_ops_take_array(&holds));
}

static void read_release(const struct pg_task *task, struct release_item *item, bool is_released)
{
    item->verdict = is_released ? RELEASE_RELEASED : RELEASE_NOT_OURS;
    if (!task->foreign->is_joined)
        item->is_recorded = false; /* there is nowhere to */
}

enum pg_next pg_foreign_release_read(struct pg_task *task, const PGresult *result,
                                     struct error *err)
{
    struct release_item *items = task->request->u.release.items;
    size_t count = task->request->u.release.count;
    int wanted = 0, row = 0;
    for (size_t i = 0; i < count; i++)
        wanted += pg_foreign_is_to_release(task, &items[i]) ? 1 : 0;
    if (PQntuples(result) != wanted) {
        error_set(err, ERROR_STORE, "the server answered %d of %d releases", PQntuples(result),
                  wanted);
        return PG_NEXT_FAILED;
    }
    for (size_t i = 0; i < count; i++)
        if (pg_foreign_is_to_release(task, &items[i]))
            read_release(task, &items[i], pg_row_bool(result, row++, "is_released"));
    return PG_NEXT_DONE;
}

/* ---- by hand ----------------------------------------------------------------------------- */

/* Only a holder of ours reads the sign. That of a foreign program would go on and be shut out. What
 * has run out is free as it is; its sign says that a person has seen it. */
static const char revoke_sql[] =
    "WITH #settings, one AS MATERIALIZED (SELECT $2::!text AS key, $3::!bool AS is_stop "
    "FROM settings WHERE settings.lock_timeout IS NOT NULL)"
    ", ended AS (UPDATE %table AS f SET %holder = !replace(!replace(f.%holder, %revoked_sign, "
    "%live_sign), %live_sign, %released_sign) FROM one WHERE f.%key {=} one.key "
    "AND %until {<=} !clock_timestamp() "
    "AND (f.%holder::!text {~} %live_form OR f.%holder::!text {~} %revoked_form))"
    ", marked AS (UPDATE %table AS f "
    "SET %holder = !replace(f.%holder, %live_sign, %revoked_sign) FROM one WHERE one.is_stop "
    "AND f.%key {=} one.key AND %until {>} !clock_timestamp() "
    "AND f.%holder::!text {~} %live_form RETURNING one.key)"
    " SELECT CASE WHEN f.%key IS NULL THEN 'unknown' "
    "WHEN %until {<=} !clock_timestamp() OR f.%holder::!text {~} %released_form THEN 'freed' "
    "WHEN marked.key IS NOT NULL OR f.%holder::!text {~} %revoked_form THEN 'marked' "
    "WHEN (f.%holder::!text {~} %live_form) IS NOT TRUE THEN 'foreign' "
    "WHEN NOT one.is_stop THEN 'live' ELSE 'changed' END AS verdict, "
    "#ms(%bounded {-} !clock_timestamp()) AS wait_ms, f.%holder AS other, #server "
    "FROM one LEFT JOIN %table AS f ON f.%key {=} one.key "
    "LEFT JOIN marked ON marked.key {=} one.key";

void pg_foreign_revoke_build(struct pg_task *task, struct pg_statement *statement)
{
    const struct revoke *revoke = &task->request->u.revoke;
    statement->sql = pg_sql_expand_names(revoke_sql, task->schema, task->foreign->names);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_statement_add(statement, mem_strdup(revoke->key));
    pg_statement_add(statement, mem_strdup(revoke->is_stop ? "t" : "f"));
}

enum pg_next pg_foreign_revoke_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    static const struct {
        const char *name;
        enum revoke_verdict verdict;
    } verdicts[] = {{"unknown", REVOKE_UNKNOWN},
                    {"freed", REVOKE_FREED},
                    {"marked", REVOKE_MARKED},
                    {"foreign", REVOKE_FOREIGN},
                    {"live", REVOKE_LIVE}};
    struct revoke *revoke = &task->request->u.revoke;
    int64_t wait_ms = pg_row_int64(result, 0, "wait_ms", 0);
    revoke->wait_ms = wait_ms > 0 ? wait_ms : 0;
    pg_row_copy_into(result, 0, "other", revoke->other, sizeof revoke->other);
    pg_foreign_show_holder(revoke->other);
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        if (strcmp(pg_row_text(result, 0, "verdict"), verdicts[i].name) != 0)
            continue;
        revoke->verdict = task->work->table_verdict = verdicts[i].verdict;
        return PG_NEXT_DONE;
    }
    return PG_NEXT_STEP; /* it changed in this instant: look again */
}
