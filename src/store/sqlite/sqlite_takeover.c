/* SPDX-License-Identifier: ISC */
#include "store/sqlite/sqlite_takeover.h"

#include <stdio.h>
#include <string.h>

static void settle(struct sqlite_look *look, enum claim_verdict verdict, bool *ret_is_settled)
{
    look->item->verdict = verdict;
    look->move = MOVE_NOTHING;
    *ret_is_settled = true;
}

/* The columns of SQL_RUN_STATE. */
static void judge_run(struct sqlite_look *look, sqlite3_stmt *run, bool *ret_is_settled)
{
    struct claim_item *item = look->item;
    struct sqlite_interrupted *interrupted = &look->interrupted;
    const char *abandoned_by = (const char *)sqlite3_column_text(run, 3);
    bool is_open = sqlite3_column_type(run, 2) != SQLITE_NULL; /* may be taken over */
    bool was_ours = abandoned_by != NULL && strcmp(abandoned_by, item->holder) == 0;
    bool is_unfinished = sqlite3_column_int(run, 4) != 0;
    interrupted->starts = sqlite3_column_int64(run, 2);
    snprintf(interrupted->holder, sizeof interrupted->holder, "%s",
             (const char *)sqlite3_column_text(run, 1));
    if (is_open && was_ours) { /* it was given back before it came */
        settle(look, CLAIM_RACED, ret_is_settled);
    } else if (look->is_again) {
        item->starts = interrupted->starts;
    } else if (!is_open || !is_unfinished ||
               sqlite3_column_int64(run, 0) != item->interrupted_fence) {
        settle(look, CLAIM_DONE, ret_is_settled);
        item->is_first_to_tell = !is_open && was_ours; /* our reply about it was lost */
    }
}

bool sqlite_takeover_look(struct sqlite_link *link, struct sqlite_look *look, bool *ret_is_settled)
{
    const struct claim_item *item = look->item;
    sqlite3_stmt *run = sqlite_link_statement(link, SQL_RUN_STATE);
    if (run == NULL)
        return false;
    sqlite_link_text(run, 1, item->run_id);
    sqlite_link_text(run, 2, item->key);
    enum sqlite_step step = sqlite_link_step(link, run);
    if (step == SQLITE_STEP_FAILED)
        return false;
    if (step == SQLITE_STEP_ROW && look->row.exists)
        judge_run(look, run, ret_is_settled);
    else
        settle(look, CLAIM_DONE, ret_is_settled);
    sqlite3_reset(run);
    return true;
}

void sqlite_takeover_judge(struct sqlite_look *look)
{
    struct claim_item *item = look->item;
    if (look->is_again)
        return;
    snprintf(item->other, sizeof item->other, "%s", look->interrupted.holder);
    item->starts = look->interrupted.starts + 1;
    if (look->interrupted.starts < item->max_starts)
        return;
    look->move = MOVE_GIVE_UP;
    item->verdict = CLAIM_DONE;
    item->is_first_to_tell = true;
}

bool sqlite_takeover_win(struct sqlite_link *link, const struct sqlite_look *look, int64_t fence)
{
    const struct claim_item *item = look->item;
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_RUN_TAKE);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, item->run_id);
    sqlite_link_text(statement, 2, item->holder);
    sqlite3_bind_int64(statement, 3, item->attempt);
    sqlite3_bind_int64(statement, 4, fence);
    return sqlite_link_run(link, statement);
}

bool sqlite_takeover_give_up(struct sqlite_link *link, const struct sqlite_look *look)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_RUN_GIVE_UP);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, look->item->run_id);
    sqlite_link_text(statement, 2, look->item->holder);
    sqlite3_bind_int64(statement, 3, look->now.wall_us);
    return sqlite_link_run(link, statement);
}
