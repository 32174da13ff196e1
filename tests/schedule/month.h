/* SPDX-License-Identifier: ISC */
/* What a month leaves behind, and the checks of it. */
#pragma once
#include "world.h"

#define HOSTS 3

/* When a host's replica was up and undisturbed, and knew the time. */
struct span {
    int host;
    int64_t from_ms, to_ms;
};
extern struct span month_spans[16384];
extern size_t month_span_count;

/* The store's clock, from then on. */
struct store_step {
    int64_t at_ms, skew_us;
};
extern struct store_step month_steps[1024];
extern size_t month_step_count;

struct month_tally {
    int slots, faults;
    int missed_told, skipped_told, abandoned_told, degraded;
    int died_untold;    /* whoever should have told it was dead */
    int closed_unheard; /* abandoned by a claim that had no answer, and was undone */
    int told_instead;   /* slots of "minute" without a row: the log has them */
};

/* Every slot from true time 0 to to_ms against the store and the log. Sorts both. */
struct month_tally month_check(int64_t to_ms);
