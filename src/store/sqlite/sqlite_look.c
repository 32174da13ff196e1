/* SPDX-License-Identifier: ISC */
#include "store/sqlite/sqlite_look.h"

#include "store/sqlite/sqlite_takeover.h"

#include <stdio.h>
#include <string.h>

#define EARLY_MS 1000 /* a slot may be claimed this long before it is due */

static void settle(struct sqlite_look *look, enum claim_verdict verdict)
{
    look->item->verdict = verdict;
    look->move = MOVE_NOTHING;
}

/* ---- the slot ---------------------------------------------------------------------------- */

static bool is_outcome(const char *name, enum run_outcome outcome)
{
    return name != NULL && strcmp(name, run_outcome_name(outcome)) == 0;
}

/* A row of runs for (key, slot) stands for whoever started, missed or skipped the slot. A person
 * makes up for what nobody started. */
static bool may_make_up(const struct claim_item *item, const char *outcome)
{
    return item->is_by_hand &&
           (is_outcome(outcome, OUTCOME_MISSED) || is_outcome(outcome, OUTCOME_SKIPPED));
}

static void settle_by_run(struct sqlite_look *look, const char *run_id, const char *outcome)
{
    struct claim_item *item = look->item;
    bool is_ours = strcmp(run_id, item->run_id) == 0;
    enum claim_verdict verdict = is_ours ? CLAIM_RACED : CLAIM_DONE;
    if (is_outcome(outcome, OUTCOME_MISSED))
        verdict = CLAIM_MISSED;
    if (is_outcome(outcome, OUTCOME_SKIPPED))
        verdict = CLAIM_SKIPPED;
    settle(look, verdict);
    if (verdict == CLAIM_MISSED || verdict == CLAIM_SKIPPED)
        item->is_first_to_tell = is_ours; /* our own reply about it was lost */
}

static bool look_at_slot(struct sqlite_link *link, struct sqlite_look *look, bool *ret_is_settled)
{
    const struct claim_item *item = look->item;
    sqlite3_stmt *run = sqlite_link_statement(link, SQL_RUN_OF_SLOT);
    if (run == NULL)
        return false;
    sqlite_link_text(run, 1, item->key);
    sqlite3_bind_int64(run, 2, item->slot_us);
    enum sqlite_step step = sqlite_link_step(link, run);
    if (step == SQLITE_STEP_FAILED)
        return false;
    if (step == SQLITE_STEP_ROW) {
        const char *outcome = (const char *)sqlite3_column_text(run, 1);
        look->is_made_up = may_make_up(item, outcome);
        *ret_is_settled = !look->is_made_up;
        if (*ret_is_settled)
            settle_by_run(look, (const char *)sqlite3_column_text(run, 0), outcome);
        sqlite3_reset(run);
    } else if (look->row.slot_us == item->slot_us) {
        settle(look, CLAIM_DONE); /* its run has been purged */
        *ret_is_settled = true;
    }
    return true;
}

static bool has_once_succeeded(struct sqlite_link *link, const char *key, bool *ret_has)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_ONCE_SUCCEEDED);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, key);
    enum sqlite_step step = sqlite_link_step(link, statement);
    if (step == SQLITE_STEP_FAILED)
        return false;
    *ret_has = step == SQLITE_STEP_ROW;
    sqlite3_reset(statement);
    return true;
}

/* The slot's place in time, by this host's wall clock. */
static bool is_early(struct sqlite_look *look)
{
    int64_t ahead_ms = (look->item->slot_us - look->now.wall_us) / 1000;
    if (ahead_ms <= EARLY_MS)
        return false;
    settle(look, CLAIM_EARLY);
    look->item->wait_ms = ahead_ms;
    return true;
}

static bool is_too_late(struct sqlite_look *look)
{
    struct claim_item *item = look->item;
    if (item->start_within_ms < 0 ||
        look->now.wall_us <= item->slot_us + item->start_within_ms * 1000)
        return false;
    item->verdict = CLAIM_MISSED;
    item->is_first_to_tell = true;
    look->move = MOVE_MISS;
    return true;
}

/* ---- the lease --------------------------------------------------------------------------- */

static void settle_held(struct sqlite_look *look, int64_t wait_ms)
{
    struct claim_item *item = look->item;
    settle(look, CLAIM_HELD);
    item->wait_ms = wait_ms;
    item->held_since_us = look->row.acquired_us;
    snprintf(item->other, sizeof item->other, "%s", look->row.holder);
}

/* A claim that was given up, and comes late, gives no slot up. */
static void skip(const struct sqlite_link *link, struct sqlite_look *look)
{
    struct claim_item *item = look->item;
    if (look->now.boot_ms > link->sent_boot_ms + item->limit_ms) {
        settle(look, CLAIM_RACED);
        return;
    }
    item->verdict = CLAIM_SKIPPED;
    item->is_first_to_tell = true;
    look->move = MOVE_SKIP;
}

static void judge_lease(struct sqlite_link *link, struct sqlite_look *look)
{
    const struct claim_item *item = look->item;
    int64_t hold_ms = sqlite_liveness_hold_ms(link->self, &look->row, look->now);
    if (look->life.is_live && !look->is_again) {
        settle_held(look, look->life.left_ms);
        if (look->life.is_unseen)
            look->move = MOVE_SIGHT;
        else if (item->is_skipping && item->slot_us != NO_INSTANT)
            skip(link, look);
    } else if (hold_ms > 0 && !look->is_again) {
        settle_held(look, hold_ms);
        look->item->is_on_hold = true;
    } else if (look->now.boot_ms > link->sent_boot_ms + item->limit_ms) {
        settle(look, CLAIM_RACED);
    } else {
        look->move = MOVE_WIN;
    }
}

/* A holder claims once, and again with a higher attempt as long as it has not released. */
static bool judge_own_claim(struct sqlite_look *look)
{
    const struct claim_item *item = look->item;
    if (!look->row.exists || strcmp(look->row.holder, item->holder) != 0)
        return false;
    look->is_again =
        !look->row.is_released && !look->row.is_revoked && item->attempt > look->row.attempt;
    if (look->is_again)
        return false;
    if (look->life.is_live)
        settle_held(look, look->life.left_ms);
    else
        settle(look, CLAIM_RACED);
    return true;
}

static void clear_answer(struct claim_item *item)
{
    item->verdict = CLAIM_RACED;
    item->fence = item->wait_ms = item->held_since_us = item->abandoned_fence = item->starts = 0;
    item->other[0] = item->abandoned[0] = '\0';
    item->is_first_to_tell = item->is_on_hold = false;
    item->previous_fingerprint[0] = '\0';
}

/* What the slot and the once-only rule say, before anybody asks about the lease. */
static bool look_at_past(struct sqlite_link *link, struct sqlite_look *look, bool *ret_is_settled)
{
    struct claim_item *item = look->item;
    bool has_slot = item->slot_us != NO_INSTANT;
    *ret_is_settled = has_slot && is_early(look);
    if (!*ret_is_settled && has_slot && !look_at_slot(link, look, ret_is_settled))
        return false;
    if (!*ret_is_settled && item->is_once) {
        if (!has_once_succeeded(link, item->key, ret_is_settled))
            return false;
        if (*ret_is_settled)
            settle(look, CLAIM_DONE);
    }
    if (!*ret_is_settled && has_slot)
        *ret_is_settled = is_too_late(look);
    return true;
}

bool sqlite_look(struct sqlite_link *link, struct sqlite_look *look)
{
    bool is_settled = false;
    clear_answer(look->item);
    look->move = MOVE_NOTHING;
    look->is_again = look->is_made_up = false;
    if (!sqlite_row_read(link, look->item->key, &look->row))
        return false;
    if (look->item->fingerprint != NULL)
        snprintf(look->item->previous_fingerprint, sizeof look->item->previous_fingerprint, "%s",
                 look->row.fingerprint);
    look->now = sqlite_now();
    look->life = sqlite_liveness(link->self, &look->row, look->now);
    if (judge_own_claim(look))
        return true;
    bool is_takeover = look->item->interrupted_fence != 0;
    if (is_takeover && !sqlite_takeover_look(link, look, &is_settled))
        return false;
    if (!is_takeover && !look->is_again && !look_at_past(link, look, &is_settled))
        return false;
    if (!is_settled)
        judge_lease(link, look);
    if (is_takeover && look->move == MOVE_WIN)
        sqlite_takeover_judge(look);
    return true;
}
