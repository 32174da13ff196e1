/* SPDX-License-Identifier: ISC */
/* Runs that were interrupted, in the store of the world. */
#include "world.h"

#include <stdio.h>

#define NEWEST 40 /* of a key's runs, in which an interrupted one is looked for */

static bool is_interrupted(const struct model_run *run)
{
    bool may_begin = run->starts > 0 && run->given_up_by[0] == '\0' && !run->is_undone;
    return may_begin && (run->outcome == OUTCOME_NONE || run->outcome == OUTCOME_STOPPED);
}

static void give_up(struct model_run *run, const char *holder)
{
    snprintf(run->given_up_by, sizeof run->given_up_by, "%s", holder);
    if (run->outcome == OUTCOME_NONE)
        run->outcome = OUTCOME_ABANDONED;
}

enum claim_verdict model_takeover_judge(struct claim_item *item, struct model_run *run,
                                        const struct lease_of_key *lease)
{
    bool is_ours = strcmp(lease->holder, item->holder) == 0;
    bool is_live = model_store_is_live(lease);
    item->is_first_to_tell = strcmp(run->given_up_by, item->holder) == 0;
    if (strcmp(run->kept_out, item->holder) == 0)
        return CLAIM_RACED;
    if (is_ours && !lease->is_released && item->attempt > lease->attempt)
        return CLAIM_WON;
    if (is_ours)
        return is_live ? CLAIM_HELD : CLAIM_RACED;
    if (run->fence != item->interrupted_fence || !is_interrupted(run))
        return CLAIM_DONE;
    if (is_live)
        return CLAIM_HELD;
    if (run->starts < item->max_starts)
        return CLAIM_WON;
    give_up(run, item->holder);
    item->is_first_to_tell = true;
    return CLAIM_DONE;
}

void model_takeover_win(struct claim_item *item, struct model_run *run, bool is_again,
                        struct replica *replica)
{
    run->starts += !is_again;
    run->outcome = OUTCOME_NONE;
    run->ended_ms = NEVER;
    run->writer = replica;
    snprintf(run->holder, sizeof run->holder, "%s", item->holder);
    item->starts = run->starts;
}

void model_takeover_recall(struct recall_item *item, const struct lease_of_key *lease)
{
    struct model_run *run = NULL, *found = NULL;
    item->interrupted = (struct interrupted_run){.slot_us = NO_INSTANT};
    if (!item->wants_interrupted || lease == NULL || model_store_is_live(lease))
        return;
    for (int i = 0; i < NEWEST && (run = model_store_newest(item->key, run)) != NULL; i++)
        if (is_interrupted(run) && (found == NULL || run->slot_us > found->slot_us))
            found = run;
    if (found == NULL)
        return;
    item->interrupted.fence = found->fence;
    item->interrupted.slot_us = found->slot_us;
    item->interrupted.starts = found->starts;
    snprintf(item->interrupted.run_id, sizeof item->interrupted.run_id, "%s", found->run_id);
}

bool model_takeover_undo(const struct release_item *item, struct model_run *run)
{
    bool is_of_holder = strcmp(run->holder, item->holder) == 0;
    if (!is_of_holder && item->fence == 0)
        snprintf(run->kept_out, sizeof run->kept_out, "%s", item->holder);
    if (is_of_holder && run->starts <= 1)
        return false;
    if (!is_of_holder || run->outcome != OUTCOME_NONE ||
        (item->fence != 0 && run->fence != item->fence))
        return true;
    run->starts--;
    run->outcome = OUTCOME_STOPPED;
    run->ended_ms = world.now_ms;
    return true;
}
