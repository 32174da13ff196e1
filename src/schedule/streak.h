/* SPDX-License-Identifier: ISC */
/* How loud a slot's failed claim is. A job that repeats within a minute asks again before anybody
 * could act on an alarm: its first two failures in a row are warnings. Any other job loses its
 * occurrence with one: an error at once. Pure.
 *
 * The streak counts slots, not attempts. It restarts when a claim is won, when another holds the
 * lease or has started the slot (the store answers, all is well), and when the claim was called
 * off by a shutdown. */
#pragma once
#include "conf/job.h"
#include "log/event.h"

struct streak {
    int count; /* slots in a row whose claim failed */
};

#define STREAK_ERROR_FROM 3

/* One more slot has failed; at which level that is told. */
enum level streak_fail(struct streak *streak, bool repeats_within_minute,
                       enum job_claim_failure claim_failure);

void streak_restart(struct streak *streak);
