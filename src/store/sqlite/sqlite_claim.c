/* SPDX-License-Identifier: ISC */
/* Claiming: each item is looked at first, without a lock, since losing is what most claims do and
 * may write nothing; those that may win are looked at again in one write transaction. */
#include "base/mem.h"
#include "base/time_text.h"
#include "store/sqlite/sqlite_look.h"
#include "store/sqlite/sqlite_ops.h"
#include "store/sqlite/sqlite_takeover.h"

#include <stdio.h>
#include <string.h>

static bool next_fence(struct sqlite_link *link, int64_t after, int64_t *ret_fence)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_NEXT_FENCE);
    if (statement == NULL)
        return false;
    sqlite3_bind_int64(statement, 1, after);
    switch (sqlite_link_step(link, statement)) {
    case SQLITE_STEP_FAILED:
        return false;
    case SQLITE_STEP_DONE:
        return sqlite_link_refuse(link, FAILURE_OTHER,
                                  "%s has lost its fence counter: the file "
                                  "was edited by hand",
                                  link->file.path);
    case SQLITE_STEP_ROW:
        break;
    }
    *ret_fence = sqlite3_column_int64(statement, 0);
    return sqlite_link_run(link, statement);
}

static bool write_run(struct sqlite_link *link, const struct sqlite_look *look, int64_t fence,
                      enum sqlite_sql which, bool *ret_is_written)
{
    const struct claim_item *item = look->item;
    sqlite3_stmt *statement = sqlite_link_statement(link, which);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, item->run_id);
    sqlite_link_text(statement, 2, item->key);
    sqlite_link_text(statement, 3, item->holder);
    sqlite3_bind_int64(statement, 4, item->attempt);
    sqlite3_bind_int64(statement, 5, fence);
    sqlite3_bind_int64(statement, 6, look->now.wall_us);
    if (which == SQL_RUN_UNSTARTED)
        sqlite_link_text(statement, 10, claim_verdict_name(item->verdict));
    if (which != SQL_RUN_AGAIN) {
        sqlite_link_text(statement, 7, item->job);
        sqlite_link_instant(statement, 8, item->slot_us);
        sqlite3_bind_int(statement, 9, item->is_once);
    }
    if (which == SQL_RUN_START) {
        sqlite_link_instant(statement, 10, item->is_rerun ? 1 : NO_INSTANT);
    }
    if (!sqlite_link_run(link, statement))
        return false;
    *ret_is_written = sqlite3_changes(link->db) > 0;
    return true;
}

/* The key's last run, if its holder never finished it. Told again when our reply was lost. */
static bool close_abandoned(struct sqlite_link *link, const struct sqlite_look *look,
                            const char *run_id)
{
    struct claim_item *item = look->item;
    if (run_id[0] == '\0')
        return true;
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_RUN_ABANDON);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, run_id);
    sqlite_link_text(statement, 2, item->run_id);
    sqlite3_bind_int64(statement, 3, look->now.wall_us);
    enum sqlite_step step = sqlite_link_step(link, statement);
    if (step != SQLITE_STEP_ROW)
        return step == SQLITE_STEP_DONE;
    snprintf(item->abandoned, sizeof item->abandoned, "%s", run_id);
    snprintf(item->other, sizeof item->other, "%s",
             (const char *)sqlite3_column_text(statement, 0));
    item->abandoned_fence = sqlite3_column_int64(statement, 1);
    return sqlite_link_run(link, statement);
}

static struct sqlite_row new_row(const struct sqlite_self *self, const struct sqlite_look *look,
                                 int64_t fence)
{
    const struct claim_item *item = look->item;
    struct sqlite_row row = {
        .fence = fence,
        .attempt = item->attempt,
        .slot_us = item->slot_us == NO_INSTANT ? look->row.slot_us : item->slot_us,
        .ttl_ms = item->ttl_ms,
        .expires_boot_ms = look->now.boot_ms + item->ttl_ms,
        .acquired_us = look->now.wall_us,
        .expires_us = look->now.wall_us + item->ttl_ms * 1000,
        .hold_until_us = NO_INSTANT,
        .written_us = look->now.wall_us,
        .pid_namespace = self->can_see_processes ? self->pid_namespace : 0,
        .pid = self->can_see_processes ? self->pid : 0,
        .start_ticks = self->start_ticks,
        .guard_pid = item->guard_pid,
        .guard_start_ticks = item->guard_pid > 0 ? identity_start_ticks(item->guard_pid) : 0,
    };
    if (item->hold_ms > 0) {
        row.hold_boot_ms = look->now.boot_ms + item->hold_ms;
        row.hold_until_us = look->now.wall_us + item->hold_ms * 1000;
    }
    snprintf(row.holder, sizeof row.holder, "%s", item->holder);
    snprintf(row.run_id, sizeof row.run_id, "%s", item->run_id);
    snprintf(row.previous_run_id, sizeof row.previous_run_id, "%s",
             look->is_again ? look->row.previous_run_id : look->row.run_id);
    if (strcmp(row.previous_run_id, item->run_id) == 0) /* that is taken over */
        row.previous_run_id[0] = '\0';
    snprintf(row.clock, sizeof row.clock, "%s", self->clock);
    snprintf(row.fingerprint, sizeof row.fingerprint, "%s",
             item->fingerprint != NULL ? item->fingerprint : look->row.fingerprint);
    return row;
}

static bool give_way(struct sqlite_link *link, const struct claim_item *item)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_RUN_GIVE_WAY);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, item->key);
    sqlite3_bind_int64(statement, 2, item->slot_us);
    sqlite_link_text(statement, 3, item->run_id);
    return sqlite_link_run(link, statement);
}

static bool win(struct sqlite_link *link, struct sqlite_look *look)
{
    struct claim_item *item = look->item;
    int64_t fence = 0;
    bool is_started = true;
    bool is_takeover = item->interrupted_fence != 0 && !look->is_again;
    if (!next_fence(link, look->row.fence, &fence))
        return false;
    if (is_takeover && !sqlite_takeover_win(link, look, fence))
        return false;
    if (look->is_made_up && !give_way(link, item))
        return false;
    if (!is_takeover &&
        !write_run(link, look, fence, look->is_again ? SQL_RUN_AGAIN : SQL_RUN_START, &is_started))
        return false;
    if (!is_started) { /* a late duplicate of a run that is over */
        item->verdict = CLAIM_RACED;
        return true;
    }
    struct sqlite_row row = new_row(link->self, look, fence);
    if (!close_abandoned(link, look, row.previous_run_id) ||
        !sqlite_row_write(link, item->key, &row))
        return false;
    item->verdict = CLAIM_WON;
    item->fence = fence;
    return true;
}

/* Its outcome has the verdict's name: missed, skipped. */
static bool record_unstarted(struct sqlite_link *link, const struct sqlite_look *look)
{
    return write_run(link, look, 0, SQL_RUN_UNSTARTED, &look->item->is_first_to_tell);
}

static bool sight(struct sqlite_link *link, struct sqlite_look *look)
{
    struct sqlite_row *row = &look->row;
    char span[TIME_TEXT_MAX];
    snprintf(row->seen_clock, sizeof row->seen_clock, "%s", link->self->clock);
    row->seen_boot_ms = look->now.boot_ms;
    time_text_span(row->ttl_ms, span);
    sqlite_link_note(link,
                     "two hosts (or two time namespaces) share %s: the lease of \"%s\" was written "
                     "by %s, by another clock, after this host was started; locks do not hold "
                     "between hosts; the key is free once its row has not changed for %s",
                     link->file.path, look->item->key, row->holder, span);
    return sqlite_row_write(link, look->item->key, row);
}

static bool write_move(struct sqlite_link *link, struct sqlite_look *look)
{
    switch (look->move) {
    case MOVE_NOTHING:
        return true;
    case MOVE_WIN:
        return win(link, look);
    case MOVE_MISS:
    case MOVE_SKIP:
        return record_unstarted(link, look);
    case MOVE_GIVE_UP:
        return sqlite_takeover_give_up(link, look);
    case MOVE_SIGHT:
        return sight(link, look);
    }
    return true;
}

/* Looks again under the lock: what was free may have been taken, and the reverse. */
static bool write_all(struct sqlite_link *link, struct sqlite_look *looks, size_t count)
{
    if (!sqlite_link_begin(link))
        return false;
    for (size_t i = 0; i < count; i++)
        if (looks[i].move != MOVE_NOTHING &&
            (!sqlite_look(link, &looks[i]) || !write_move(link, &looks[i])))
            return false;
    return sqlite_link_commit(link);
}

bool sqlite_claim(struct sqlite_link *link, struct store_request *request)
{
    size_t count = request->u.claim.count;
    MEM_AUTOFREE struct sqlite_look *looks = mem_array(count, sizeof *looks);
    bool has_moves = false;
    for (size_t i = 0; i < count; i++) {
        looks[i].item = &request->u.claim.items[i];
        if (!sqlite_look(link, &looks[i]))
            return false;
        has_moves = has_moves || looks[i].move != MOVE_NOTHING;
    }
    return !has_moves || write_all(link, looks, count);
}
