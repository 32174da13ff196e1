/* SPDX-License-Identifier: ISC */
/* What a holder does with its mandate (renew, release, undo, free), and what a person does to it
 * (revoke). One write transaction a request; each item changes its row only when the row still
 * says what the item says. */
#include "store/sqlite/sqlite_liveness.h"
#include "store/sqlite/sqlite_ops.h"

#include <stdio.h>
#include <string.h>

static bool is_mandate(const struct sqlite_row *row, const char *holder, int64_t fence)
{
    return row->exists && row->fence == fence && strcmp(row->holder, holder) == 0;
}

/* ---- renew ------------------------------------------------------------------------------- */

static bool lose(struct renew_item *item, enum lost_reason reason)
{
    item->verdict = RENEW_LOST;
    item->reason = reason;
    return true;
}

static bool renew_one(struct sqlite_link *link, struct renew_item *item)
{
    struct sqlite_row row;
    item->other[0] = '\0';
    if (!sqlite_row_read(link, item->key, &row))
        return false;
    struct sqlite_now now = sqlite_now();
    if (!row.exists)
        return lose(item, LOST_GONE);
    if (!is_mandate(&row, item->holder, item->fence)) {
        if (sqlite_liveness(link->self, &row, now).is_live)
            snprintf(item->other, sizeof item->other, "%s", row.holder);
        return lose(item, LOST_TAKEN);
    }
    if (row.is_released)
        return lose(item, LOST_GONE);
    if (row.is_revoked)
        return lose(item, LOST_REVOKED);
    if (strcmp(row.clock, link->self->clock) != 0 || row.expires_boot_ms <= now.boot_ms)
        return lose(item, LOST_EXPIRED);
    row.ttl_ms = item->ttl_ms;
    row.expires_boot_ms = now.boot_ms + item->ttl_ms;
    row.expires_us = now.wall_us + item->ttl_ms * 1000;
    row.written_us = now.wall_us;
    row.seen_clock[0] = '\0';
    item->verdict = RENEW_RENEWED;
    return sqlite_row_write(link, item->key, &row);
}

bool sqlite_renew(struct sqlite_link *link, struct store_request *request)
{
    if (!sqlite_link_begin(link))
        return false;
    for (size_t i = 0; i < request->u.renew.count; i++)
        if (!renew_one(link, &request->u.renew.items[i]))
            return false;
    return sqlite_link_commit(link);
}

/* ---- giving back ------------------------------------------------------------------------- */

static bool mark_released(struct sqlite_link *link, const char *key, struct sqlite_row *row)
{
    struct sqlite_now now = sqlite_now();
    row->is_released = true;
    if (strcmp(row->clock, link->self->clock) == 0 && row->expires_boot_ms > now.boot_ms)
        row->expires_boot_ms = now.boot_ms;
    if (row->expires_us > now.wall_us) /* never before it was acquired, whatever the clock did */
        row->expires_us = now.wall_us > row->acquired_us ? now.wall_us : row->acquired_us;
    row->written_us = now.wall_us;
    row->seen_clock[0] = '\0';
    return sqlite_row_write(link, key, row);
}

static bool read_outcome(struct sqlite_link *link, const struct release_item *item,
                         bool *ret_is_same)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_RUN_OUTCOME);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, item->run_id);
    sqlite3_bind_int64(statement, 2, item->fence);
    enum sqlite_step step = sqlite_link_step(link, statement);
    if (step == SQLITE_STEP_FAILED)
        return false;
    const char *outcome =
        step == SQLITE_STEP_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    *ret_is_same = outcome != NULL && strcmp(outcome, run_outcome_name(item->outcome)) == 0;
    sqlite3_reset(statement);
    return true;
}

static bool finish_run(struct sqlite_link *link, struct release_item *item)
{
    item->is_recorded = false;
    if (item->outcome == OUTCOME_NONE || item->run_id == NULL)
        return true;
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_RUN_FINISH);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, item->run_id);
    sqlite3_bind_int64(statement, 2, item->fence);
    sqlite_link_text(statement, 3, run_outcome_name(item->outcome));
    sqlite3_bind_int(statement, 4, item->status);
    sqlite3_bind_int64(statement, 5, sqlite_now().wall_us);
    sqlite3_bind_blob(statement, 6, item->output_tail, (int)item->output_tail_length,
                      SQLITE_STATIC);
    if (!sqlite_link_run(link, statement))
        return false;
    item->is_recorded = sqlite3_changes(link->db) > 0;
    return item->is_recorded || read_outcome(link, item, &item->is_recorded);
}

static bool release_one(struct sqlite_link *link, struct release_item *item)
{
    struct sqlite_row row;
    if (!sqlite_row_read(link, item->key, &row))
        return false;
    item->verdict = RELEASE_NOT_OURS;
    if (is_mandate(&row, item->holder, item->fence)) {
        item->verdict = RELEASE_RELEASED;
        if (!row.is_released && !mark_released(link, item->key, &row))
            return false;
    }
    return finish_run(link, item);
}

/* The newest slot that the key still has a run for: the undone one is open again. */
static bool last_slot(struct sqlite_link *link, const char *key, int64_t *ret_slot_us)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_LAST_SLOT);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, key);
    enum sqlite_step step = sqlite_link_step(link, statement);
    if (step == SQLITE_STEP_FAILED)
        return false;
    *ret_slot_us = NO_INSTANT;
    if (step == SQLITE_STEP_ROW)
        *ret_slot_us = sqlite_link_read_instant(statement, 0);
    sqlite3_reset(statement);
    return true;
}

/* The claim that took a run over may never have come; should it still come, it is kept out. */
static bool keep_out(struct sqlite_link *link, const struct release_item *item)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_RUN_KEEP_OUT);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, item->run_id);
    sqlite_link_text(statement, 2, item->holder);
    return sqlite_link_run(link, statement);
}

static bool undo_run(struct sqlite_link *link, struct release_item *item)
{
    struct release_item undone = *item;
    undone.outcome = OUTCOME_NOT_STARTED;
    if (item->fence == 0 && !keep_out(link, item))
        return false;
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_RUN_UNDO);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, item->run_id);
    sqlite3_bind_int64(statement, 2, item->fence);
    sqlite_link_text(statement, 3, item->key);
    sqlite_link_text(statement, 4, item->holder);
    sqlite3_bind_int64(statement, 5, sqlite_now().wall_us);
    if (!sqlite_link_run(link, statement))
        return false;
    item->is_recorded = sqlite3_changes(link->db) > 0;
    return item->is_recorded || read_outcome(link, &undone, &item->is_recorded);
}

static bool undo_one(struct sqlite_link *link, struct release_item *item)
{
    struct sqlite_row row;
    if (!undo_run(link, item) || !sqlite_row_read(link, item->key, &row))
        return false;
    item->verdict = RELEASE_NOT_OURS;
    /* Fence 0: of a claim whose reply never came. Holder and run are new with every claim. */
    if (!is_mandate(&row, item->holder, item->fence == 0 ? row.fence : item->fence))
        return true;
    item->verdict = RELEASE_RELEASED;
    if (row.is_released)
        return true;
    row.run_id[0] = '\0';
    row.hold_until_us = NO_INSTANT; /* nothing was started that others should keep away from */
    row.hold_boot_ms = 0;
    return last_slot(link, item->key, &row.slot_us) && mark_released(link, item->key, &row);
}

static bool free_one(struct sqlite_link *link, struct release_item *item)
{
    struct sqlite_row row;
    if (!sqlite_row_read(link, item->key, &row))
        return false;
    item->is_recorded = false;
    item->verdict = RELEASE_NOT_OURS;
    if (!row.exists || strcmp(row.holder, item->holder) != 0)
        return true;
    item->verdict = RELEASE_RELEASED;
    return row.is_released || mark_released(link, item->key, &row);
}

static bool give_back(struct sqlite_link *link, struct store_request *request,
                      bool (*one)(struct sqlite_link *, struct release_item *))
{
    if (!sqlite_link_begin(link))
        return false;
    for (size_t i = 0; i < request->u.release.count; i++)
        if (!one(link, &request->u.release.items[i]))
            return false;
    return sqlite_link_commit(link);
}

bool sqlite_release(struct sqlite_link *link, struct store_request *request)
{
    return give_back(link, request, release_one);
}

bool sqlite_undo(struct sqlite_link *link, struct store_request *request)
{
    return give_back(link, request, undo_one);
}

bool sqlite_free(struct sqlite_link *link, struct store_request *request)
{
    return give_back(link, request, free_one);
}

/* ---- by hand ----------------------------------------------------------------------------- */

static bool revoke_live(struct sqlite_link *link, struct revoke *revoke, struct sqlite_row *row,
                        int64_t left_ms)
{
    revoke->wait_ms = left_ms;
    snprintf(revoke->other, sizeof revoke->other, "%s", row->holder);
    revoke->verdict = revoke->is_stop ? REVOKE_MARKED : REVOKE_LIVE;
    if (!revoke->is_stop || row->is_revoked)
        return true;
    row->is_revoked = true;
    return sqlite_row_write(link, revoke->key, row);
}

static bool revoke_row(struct sqlite_link *link, struct revoke *revoke)
{
    struct sqlite_row row;
    revoke->wait_ms = 0;
    revoke->other[0] = '\0';
    if (!sqlite_row_read(link, revoke->key, &row))
        return false;
    if (!row.exists) {
        revoke->verdict = REVOKE_UNKNOWN;
        return true;
    }
    struct sqlite_life life = sqlite_liveness(link->self, &row, sqlite_now());
    if (life.is_live)
        return revoke_live(link, revoke, &row, life.left_ms);
    revoke->verdict = REVOKE_FREED;
    return row.is_released || mark_released(link, revoke->key, &row);
}

bool sqlite_revoke(struct sqlite_link *link, struct store_request *request)
{
    return sqlite_link_begin(link) && revoke_row(link, &request->u.revoke) &&
           sqlite_link_commit(link);
}
