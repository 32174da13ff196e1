/* SPDX-License-Identifier: ISC */
#include "run/run_hooks.h"

#include "run/hooks.h"
#include "run/run_inside.h"
#include "run/run_tell.h"

#include <stdio.h>
#include <string.h>

#define SENTENCE_MAX (IDENTITY_HOLDER_MAX + 128)

static struct hook_facts facts_of(const struct run *run, enum job_hook hook)
{
    return (struct hook_facts){
        .job = run->spec.job,
        .hook = hook,
        .key = run->lease.key,
        .run_id = "",
        .slot_us = NO_INSTANT,
        .slot = "",
        .status = -1,
    };
}

static void put_slot(struct hook_facts *facts, int64_t slot_us, char text[TIME_TEXT_MAX])
{
    facts->slot_us = slot_us;
    if (slot_us != NO_INSTANT)
        facts->slot = time_text_s(slot_us, text);
}

/* ---- what a claim tells ---------------------------------------------------------------------- */

static void add_missed(struct run *run)
{
    char slot[TIME_TEXT_MAX];
    struct hook_facts facts = facts_of(run, JOB_HOOK_MISSED);
    put_slot(&facts, run->lease.slot_us, slot);
    facts.outcome = OUTCOME_MISSED;
    facts.error = "the slot's time to start (start-within) is over and nobody has started it";
    hooks_add(run->spec.hooks, &facts);
}

/* The run before this one: its slot is not known here. */
static void add_abandoned(struct run *run)
{
    char sentence[SENTENCE_MAX];
    const struct claim_item *answer = &run->claim.item;
    struct hook_facts facts = facts_of(run, JOB_HOOK_ABANDONED);
    facts.run_id = answer->abandoned;
    facts.fence = answer->abandoned_fence;
    facts.outcome = OUTCOME_ABANDONED;
    snprintf(sentence, sizeof sentence, "it never told its end: its leaserun died (%s)",
             answer->other);
    facts.error = sentence;
    hooks_add(run->spec.hooks, &facts);
}

static void add_given_up(struct run *run)
{
    char slot[TIME_TEXT_MAX];
    struct hook_facts facts = facts_of(run, JOB_HOOK_ABANDONED);
    put_slot(&facts, run->lease.slot_us, slot);
    facts.run_id = run->lease.run_id;
    facts.fence = run->spec.claim.interrupted_fence;
    facts.outcome = OUTCOME_ABANDONED;
    facts.error = "it was interrupted, and has begun as often as max-attempts lets it";
    hooks_add(run->spec.hooks, &facts);
}

void run_hooks_on_claim(struct run *run, enum claim_result result)
{
    const struct claim_item *answer = &run->claim.item;
    bool was_won = result == CLAIM_RESULT_WON || result == CLAIM_RESULT_CANCELLED;
    if (run->spec.hooks == NULL)
        return;
    if (result == CLAIM_RESULT_MISSED && answer->is_first_to_tell)
        add_missed(run);
    else if (was_won && answer->abandoned[0] != '\0')
        add_abandoned(run);
    else if (result == CLAIM_RESULT_DONE && run->spec.claim.interrupted_fence != 0 &&
             answer->is_first_to_tell)
        add_given_up(run);
}

/* ---- its end --------------------------------------------------------------------------------- */

static enum job_hook hook_of(enum run_outcome outcome)
{
    if (outcome == OUTCOME_SUCCEEDED)
        return JOB_HOOK_SUCCESS;
    return outcome == OUTCOME_LOST ? JOB_HOOK_LOST : JOB_HOOK_FAILURE;
}

static const char *lost_sentence(const struct run *run)
{
    if (!run->facts.is_lost)
        return "the lease was lost before the command ended: its row is another's or gone";
    return run->is_out_of_time ? "no renewal of the lease came through in time"
                               : lost_reason_name(run->lost_reason);
}

static const char *sentence_of(const struct run *run, enum run_outcome outcome,
                               char ret_text[RUN_TELL_FAILURE_MAX])
{
    switch (outcome) {
    case OUTCOME_NOT_STARTED:
        return run->why_not_started.text;
    case OUTCOME_LOST:
        return lost_sentence(run);
    case OUTCOME_STOPPED:
        snprintf(ret_text, RUN_TELL_FAILURE_MAX, "leaserun was told to end: SIG%s came",
                 sigabbrev_np(run->stop_signal));
        return ret_text;
    case OUTCOME_FAILED:
        if (run->facts.has_guard_died)
            return "the guard of the command was killed or did not answer";
        return run_tell_failure(run, &run->record, ret_text);
    case OUTCOME_TIMED_OUT:
        return run_tell_failure(run, &run->record, ret_text);
    case OUTCOME_NONE:
    case OUTCOME_SUCCEEDED:
    case OUTCOME_ABANDONED:
    case OUTCOME_MISSED:
    case OUTCOME_SKIPPED:
    case OUTCOME_COUNT:
        break;
    }
    return NULL;
}

void run_hooks_on_end(struct run *run, bool is_ours)
{
    char sentence[RUN_TELL_FAILURE_MAX];
    enum run_outcome outcome = is_ours ? run->record.outcome : OUTCOME_LOST;
    if (run->spec.hooks == NULL)
        return;
    struct hook_facts facts = facts_of(run, hook_of(outcome));
    facts.run_id = run->lease.run_id;
    facts.fence = run->lease.fence;
    facts.slot_us = run->lease.slot_us;
    facts.slot = run->slot_text;
    facts.attempt = run_command_attempt(run);
    facts.outcome = outcome;
    facts.status = run->record.status;
    facts.error = sentence_of(run, outcome, sentence);
    if (run->command != NULL)
        facts.tail = command_tail(run->command, &facts.tail_length);
    hooks_add(run->spec.hooks, &facts);
}
