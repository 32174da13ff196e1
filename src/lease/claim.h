/* SPDX-License-Identifier: ISC */
/* Asks for the lease until there is an answer to act on: repeats what failed, waits where waiting
 * was asked for, sleeps until a slot that is early, and leaves nothing behind when given up. */
#pragma once
#include "base/backoff.h"
#include "lease/lease.h"
#include "loop/alarm.h"

#include <stdbool.h>

enum claim_result {
    CLAIM_RESULT_WON,       /* the lease is filled; its deadline runs */
    CLAIM_RESULT_HELD,      /* by another, and the wait is over */
    CLAIM_RESULT_DONE,      /* slot started by another, once-only has succeeded, or the run that was
                               to be taken over is not interrupted any more */
    CLAIM_RESULT_MISSED,    /* the slot's window is over */
    CLAIM_RESULT_SKIPPED,   /* held by another, and the slot was given up for it */
    CLAIM_RESULT_EARLY,     /* the slot lies further ahead than far_ahead_ms */
    CLAIM_RESULT_FAILED,    /* error and failure say why */
    CLAIM_RESULT_CANCELLED, /* by claim_cancel; a claim won meanwhile was undone. A slot that was
                               given up in our name meanwhile is MISSED or SKIPPED all the same */
};

struct claim_spec {
    int64_t hold_ms;
    int64_t slot_window_ms; /* with a slot: refused by the store later than slot + this */
    bool is_once;
    bool is_skipping;        /* with a slot that is held: the slot is given up for good */
    bool is_by_hand;         /* with a slot: also one that was missed or skipped */
    const char *fingerprint; /* of the schedule that named the slot, and its past; NULL: none */
    bool is_rerun;           /* its run may be taken over once it is interrupted */
    int64_t interrupted_fence, max_starts; /* takes a run over: as in claim_item; 0: does not */
    int64_t guard_pid;
    bool may_wait;        /* for a holder to go; without it HELD is an answer */
    bool is_steadfast;    /* no fault ends it before its time: what is refused may be mended */
    int64_t far_ahead_ms; /* a slot further ahead is not slept for: EARLY; 0: any is */
    int64_t give_up_ms;   /* after this long without a lease: HELD or FAILED, whichever was last */
};

struct claim;
struct claim_listener {
    void (*finished)(void *owner, enum claim_result result);
    /* On the way, each at most once: waiting for a holder, an early slot, the first attempt that
     * failed (claim->error; trying on). A conflict is one when it has lasted an attempt's time.
     * failed may be NULL. */
    void (*waits)(void *owner, const struct claim_item *answer);
    void (*early)(void *owner, const struct claim_item *answer);
    void (*failed)(void *owner);
};

struct claim {
    struct lease *lease;
    struct claim_spec spec;
    struct store *store;
    const struct claim_listener *listener;
    void *owner;

    struct claim_item item; /* the last answer, for whoever tells it */
    struct store_request request;
    struct release_item give_back;
    struct alarm alarm;
    int64_t give_up_boot_ms;
    int64_t hinted_boot_ms; /* when a hint was last followed */
    struct backoff conflict, outage;
    enum claim_result result;   /* once decided, while something is given back */
    struct error error;         /* FAILED: the last fault */
    enum store_failure failure; /* FAILED: its kind */
    bool is_asking;             /* the request is with the store: a claim */
    bool is_giving_back;        /* it is an undo; the result is decided */
    bool has_asked;             /* at least once */
    bool is_cancelled;
    bool is_held;      /* the last answer was HELD */
    bool is_answered;  /* some attempt was: later faults do not end the claim at once */
    bool is_unsure;    /* an attempt was sent, and neither it nor one after it was answered: it may
                          have won */
    bool is_left_open; /* what may have been won could not be given back: it may still be held */
    bool has_waited, was_early, has_told_failure;
    int64_t contended_boot_ms; /* conflicts alone since then; 0: none */
};

/* lease: key, job, holder, run_id, slot_us, timing are set. Calls finished once, from the loop. */
void claim_start(struct claim *claim, uv_loop_t *loop, struct store *store, struct lease *lease,
                 const struct claim_spec *spec, const struct claim_listener *listener, void *owner);

/* The key was given back, says the store: a claim that waits for its holder asks now rather than
 * when its pause is over, though not more than ten times a second. */
void claim_hint(struct claim *claim, const char *key);

/* Ends it within CLAIM_CANCEL_MS, database or not. The result is CANCELLED, unless another was
 * decided before. */
#define CLAIM_CANCEL_MS 800
void claim_cancel(struct claim *claim);

/* The store is back: what waits for its next attempt after a fault asks at once. */
void claim_hurry(struct claim *claim);

void claim_close(struct claim *claim, struct handles *handles);
