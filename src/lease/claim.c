/* SPDX-License-Identifier: ISC */
#include "lease/claim.h"

#include "base/list.h"
#include "base/now.h"
#include "base/time_text.h"

#include <string.h>

#define POLL_MS        1000 /* --wait asks no oftener than this */
#define HINT_MS        100  /* and follows hints no oftener than this */
#define LEAST_LIMIT_MS 100
#define GIVE_BACK_MS   1000 /* one bounded try before giving up */
#define CANCEL_EACH_MS (CLAIM_CANCEL_MS / 2)
#define STEADFAST_MS   1000 /* a slot that an outage delays starts within 2 s of its end */

static void ask(struct claim *claim);

static void finish(struct claim *claim)
{
    alarm_stop(&claim->alarm);
    claim->listener->finished(claim->owner, claim->result);
}

/* ---- giving back what may have been won --------------------------------------------------- */

static void on_given_back(struct store_request *request)
{
    struct claim *claim = request->owner;
    claim->is_giving_back = false;
    claim->is_left_open = request->outcome != STORE_ANSWERED;
    finish(claim);
}

/* fence: 0 for a claim that was never answered. */
static void undo(struct claim *claim, int64_t fence)
{
    claim->give_back = (struct release_item){
        .key = claim->lease->key,
        .holder = claim->lease->holder,
        .fence = fence,
        .run_id = claim->lease->run_id,
        .status = -1,
    };
    claim->request = (struct store_request){
        .kind = STORE_UNDO,
        .limit_ms = claim->is_cancelled ? CANCEL_EACH_MS : GIVE_BACK_MS,
        .done = on_given_back,
        .owner = claim,
        .u.release = {.items = &claim->give_back, .count = 1},
    };
    claim->is_giving_back = true;
    store_submit(claim->store, &claim->request);
}

static void end(struct claim *claim, enum claim_result result)
{
    claim->result = result;
    if (claim->is_unsure)
        undo(claim, 0);
    else
        finish(claim);
}

/* ---- the next attempt ---------------------------------------------------------------------- */

static int64_t left_ms(const struct claim *claim)
{
    return claim->give_up_boot_ms == INT64_MAX ? INT64_MAX : claim->give_up_boot_ms - now_boot_ms();
}

static void give_up(struct claim *claim)
{
    if (claim->is_held) {
        end(claim, CLAIM_RESULT_HELD);
        return;
    }
    char waited[TIME_TEXT_MAX];
    if (claim->spec.give_up_ms > 0)
        error_prefix(&claim->error, "no lease within %s",
                     time_text_span(claim->spec.give_up_ms, waited));
    end(claim, CLAIM_RESULT_FAILED);
}

static void ask_in(struct claim *claim, int64_t delay_ms)
{
    int64_t left = left_ms(claim);
    if (left <= 0)
        give_up(claim);
    else
        alarm_set_in(&claim->alarm, delay_ms < left ? delay_ms : left);
}

static void on_alarm(struct alarm *alarm)
{
    struct claim *claim = LIST_OBJECT(alarm, struct claim, alarm);
    if (claim->is_cancelled)
        end(claim, CLAIM_RESULT_CANCELLED);
    else if (left_ms(claim) <= 0)
        give_up(claim);
    else
        ask(claim);
}

/* ---- answers ------------------------------------------------------------------------------- */

static void on_won(struct claim *claim)
{
    struct lease *lease = claim->lease;
    lease->sent_boot_ms = claim->request.sent_boot_ms;
    if (claim->is_cancelled) {
        claim->result = CLAIM_RESULT_CANCELLED;
        undo(claim, claim->item.fence);
        return;
    }
    /* We were stopped between asking and reading: too little of the lease is left to start. */
    if (now_boot_ms() >= lease_term_boot_ms(lease)) {
        claim->is_unsure = true;
        claim->item.attempt++;
        claim->failure = FAILURE_UNREACHABLE;
        error_set(&claim->error, ERROR_STORE,
                  "leaserun was stopped for so long that the lease it had won was nearly over");
        ask_in(claim, 0);
        return;
    }
    lease->fence = claim->item.fence;
    lease->hold_ms = claim->item.hold_ms;
    claim->result = CLAIM_RESULT_WON;
    finish(claim);
}

static void on_held(struct claim *claim)
{
    claim->is_held = true;
    if (!claim->spec.may_wait || left_ms(claim) <= 0) {
        end(claim, CLAIM_RESULT_HELD);
        return;
    }
    if (!claim->has_waited)
        claim->listener->waits(claim->owner, &claim->item);
    claim->has_waited = true;
    backoff_reset(&claim->conflict);
    ask_in(claim, POLL_MS);
}

static void on_early(struct claim *claim)
{
    int64_t far_ahead_ms = claim->spec.far_ahead_ms;
    if (far_ahead_ms > 0 && claim->item.wait_ms > far_ahead_ms) {
        end(claim, CLAIM_RESULT_EARLY);
        return;
    }
    if (!claim->was_early)
        claim->listener->early(claim->owner, &claim->item);
    claim->was_early = true;
    /* The slot decides, not the limit for an answer: the store did answer. */
    if (claim->give_up_boot_ms != INT64_MAX)
        claim->give_up_boot_ms += claim->item.wait_ms;
    ask_in(claim, claim->item.wait_ms > 0 ? claim->item.wait_ms : 1);
}

static void on_verdict(struct claim *claim)
{
    claim->is_held = false;
    switch (claim->item.verdict) {
    case CLAIM_WON:
        on_won(claim);
        return;
    case CLAIM_HELD:
        on_held(claim);
        return;
    case CLAIM_DONE:
        end(claim, CLAIM_RESULT_DONE);
        return;
    case CLAIM_MISSED:
        end(claim, CLAIM_RESULT_MISSED);
        return;
    case CLAIM_SKIPPED:
        end(claim, CLAIM_RESULT_SKIPPED);
        return;
    case CLAIM_EARLY:
        on_early(claim);
        return;
    case CLAIM_RACED:
        claim->failure = FAILURE_CONFLICT;
        error_set(&claim->error, ERROR_STORE, "others were faster at every try");
        ask_in(claim, backoff_next_ms(&claim->conflict));
        return;
    }
}

/* Only silence leaves it open whether the claim was committed. Once open, it stays so until an
 * attempt is answered: one that failed says nothing of those before it. */
static bool is_open(const struct store_request *request)
{
    return request->outcome == STORE_FAILED && request->failure == FAILURE_UNREACHABLE &&
           request->sent_boot_ms != 0;
}

static void tell_failure(struct claim *claim)
{
    int64_t now = now_boot_ms();
    if (claim->failure == FAILURE_CONFLICT) {
        if (claim->contended_boot_ms == 0)
            claim->contended_boot_ms = now;
        if (now - claim->contended_boot_ms < claim->lease->timing.attempt_ms)
            return;
    }
    if (!claim->has_told_failure && claim->listener->failed != NULL)
        claim->listener->failed(claim->owner);
    claim->has_told_failure = true;
}

static void on_failed(struct claim *claim)
{
    const struct store_request *request = &claim->request;
    bool is_final = store_failure_is_final(request->failure) && !claim->is_answered &&
                    !claim->spec.is_steadfast;
    claim->error = request->error;
    claim->failure = request->failure;
    if (is_open(request)) {
        claim->is_unsure = true;
        claim->item.attempt++;
    }
    if (is_final) {
        end(claim, CLAIM_RESULT_FAILED);
        return;
    }
    claim->is_held = false;
    tell_failure(claim);
    if (request->failure == FAILURE_CONFLICT)
        ask_in(claim, backoff_next_ms(&claim->conflict));
    else
        ask_in(claim, backoff_next_ms(&claim->outage));
}

/* What the store has written down for us to tell is told. */
static bool is_void(const struct claim *claim)
{
    return claim->is_cancelled && claim->item.verdict != CLAIM_WON && !claim->item.is_first_to_tell;
}

static void on_claimed(struct store_request *request)
{
    struct claim *claim = request->owner;
    claim->is_asking = false;
    if (request->outcome == STORE_ANSWERED) {
        claim->is_answered = true;
        claim->is_unsure = false;
        claim->contended_boot_ms = 0;
        backoff_reset(&claim->outage);
    }
    if (claim->is_cancelled && request->outcome != STORE_ANSWERED) {
        claim->is_unsure |= is_open(request);
        end(claim, CLAIM_RESULT_CANCELLED);
    } else if (request->outcome == STORE_ANSWERED && is_void(claim)) {
        end(claim, CLAIM_RESULT_CANCELLED);
    } else if (request->outcome == STORE_ANSWERED) {
        on_verdict(claim);
    } else {
        on_failed(claim);
    }
}

/* However short the wait for a holder, the store has the time of one attempt to tell of one. */
static int64_t limit_ms(const struct claim *claim)
{
    int64_t whole = claim->lease->timing.attempt_ms;
    int64_t left = left_ms(claim);
    bool is_first = !claim->has_asked && (claim->spec.may_wait || claim->spec.give_up_ms == 0);
    if (is_first || left > whole)
        return whole;
    return left < LEAST_LIMIT_MS ? LEAST_LIMIT_MS : left;
}

static void ask(struct claim *claim)
{
    int64_t limit = limit_ms(claim);
    claim->item.limit_ms = limit;
    claim->request = (struct store_request){
        .kind = STORE_CLAIM,
        .limit_ms = limit,
        .done = on_claimed,
        .owner = claim,
        .u.claim = {.items = &claim->item, .count = 1},
    };
    claim->is_asking = true;
    claim->has_asked = true;
    store_submit(claim->store, &claim->request);
}

/* ---- the claim itself ---------------------------------------------------------------------- */

void claim_start(struct claim *claim, uv_loop_t *loop, struct store *store, struct lease *lease,
                 const struct claim_spec *spec, const struct claim_listener *listener, void *owner)
{
    *claim = (struct claim){
        .lease = lease,
        .spec = *spec,
        .store = store,
        .listener = listener,
        .owner = owner,
        .conflict = {.first_ms = 1, .most_ms = 100},
        .outage = {.first_ms = 100, .most_ms = spec->is_steadfast ? STEADFAST_MS : 2000},
        .give_up_boot_ms = INT64_MAX,
    };
    if (spec->give_up_ms != INT64_MAX)
        claim->give_up_boot_ms = now_boot_ms() + spec->give_up_ms;
    claim->item = (struct claim_item){
        .key = lease->key,
        .holder = lease->holder,
        .run_id = lease->run_id,
        .job = lease->job,
        .attempt = 1,
        .ttl_ms = lease->timing.ttl_ms,
        .hold_ms = spec->hold_ms,
        .slot_us = lease->slot_us,
        .start_within_ms = spec->slot_window_ms,
        .is_once = spec->is_once,
        .is_waiting = spec->may_wait,
        .is_skipping = spec->is_skipping,
        .is_by_hand = spec->is_by_hand,
        .fingerprint = spec->fingerprint,
        .guard_pid = spec->guard_pid,
        .is_rerun = spec->is_rerun,
        .interrupted_fence = spec->interrupted_fence,
        .max_starts = spec->max_starts,
    };
    alarm_init(&claim->alarm, loop, on_alarm);
    ask(claim);
}

void claim_hint(struct claim *claim, const char *key)
{
    bool is_pausing = claim->is_held && claim->alarm.is_set && !claim->is_cancelled;
    if (!is_pausing || strcmp(key, claim->lease->key) != 0)
        return;
    int64_t at_boot_ms = claim->hinted_boot_ms + HINT_MS;
    if (at_boot_ms < now_boot_ms())
        at_boot_ms = now_boot_ms();
    if (at_boot_ms >= claim->alarm.due_boot_ms)
        return;
    claim->hinted_boot_ms = at_boot_ms;
    ask_in(claim, at_boot_ms - now_boot_ms());
}

void claim_cancel(struct claim *claim)
{
    if (claim->is_cancelled)
        return;
    claim->is_cancelled = true;
    if (claim->is_giving_back) {
        store_hasten(claim->store, &claim->request, CANCEL_EACH_MS);
    } else if (claim->is_asking) {
        store_cancel(claim->store, &claim->request);
        if (claim->request.sent_boot_ms != 0)
            store_hasten(claim->store, &claim->request, CANCEL_EACH_MS);
    } else if (claim->alarm.is_set) {
        alarm_set_in(&claim->alarm, 0); /* between two attempts: finish from the loop */
    }
}

void claim_hurry(struct claim *claim)
{
    bool is_after_fault = claim->outage.step_ms != 0;
    if (is_after_fault && claim->alarm.is_set && !claim->is_cancelled)
        alarm_set_in(&claim->alarm, 0);
}

void claim_close(struct claim *claim, struct handles *handles)
{
    alarm_close(&claim->alarm, handles);
}
