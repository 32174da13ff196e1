/* SPDX-License-Identifier: ISC */
/* Gives a lease back and writes the run's outcome, in one statement, repeated within a limit. What
 * cannot be released runs out by itself: never a reason to wait longer. */
#pragma once
#include "base/backoff.h"
#include "lease/lease.h"
#include "loop/alarm.h"

#include <stdbool.h>

#define RELEASE_LIMIT_MS 5000

struct release {
    struct store *store;
    void (*finished)(void *owner);
    void *owner;
    struct release_item item; /* the verdict, once is_done */
    struct store_request request;
    struct error error; /* the last fault, when not is_done */
    struct alarm alarm;
    struct backoff backoff;
    int64_t attempt_ms;
    int64_t give_up_boot_ms;
    int64_t output_until_boot_ms; /* attempts after this leave it out */
    enum store_kind kind;         /* STORE_RELEASE or STORE_UNDO */
    bool is_asking;
    bool is_done; /* the store answered */
};

/* What the store is to remember of the run. */
struct release_record {
    enum run_outcome outcome;
    int status;
    const char *output_tail;   /* the caller's until finished */
    size_t output_tail_length; /* 0: none */
};

/* Calls finished once, from the loop, within limit_ms. The output is left out in the second half
 * of that: a slow network or a full disk must not take the outcome away with it. */
void release_start(struct release *release, uv_loop_t *loop, struct store *store,
                   const struct lease *lease, const struct release_record *record, int64_t limit_ms,
                   void (*finished)(void *owner), void *owner);

/* The same for a mandate whose command was never started: its run is forgotten and its slot open
 * again. */
void release_start_undo(struct release *release, uv_loop_t *loop, struct store *store,
                        const struct lease *lease, int64_t limit_ms, void (*finished)(void *owner),
                        void *owner);

/* Brings the limit nearer: no later than ms from now. */
void release_hasten(struct release *release, int64_t ms);

void release_close(struct release *release, struct handles *handles);
