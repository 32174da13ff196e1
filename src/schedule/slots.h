/* SPDX-License-Identifier: ISC */
/* The slots of one schedule: when the next one is, how long each may start, which of those that
 * passed are still worth asking for. Pure.
 *
 * A slot's name is its instant. Jobs that share a key have their slots some microseconds apart, so
 * that each has its own in the store, where a slot belongs to a key (offset_us). */
#pragma once
#include "cron/cron.h"

#include <stdbool.h>
#include <stdint.h>

struct slots {
    struct cron cron;
    const struct zone *zone;
    int64_t offset_us; /* 0 to 999 */
};

#define SLOTS_WINDOW_MOST_MS (3600 * INT64_C(1000)) /* of start-within = auto */
#define SLOTS_BACKLOG_MOST   100                    /* slots that passed untried, for each job */

/* The first slot after that instant; NO_INSTANT: none. */
int64_t slots_next(const struct slots *slots, int64_t after_us);

/* The latest in (after, until]; NO_INSTANT: none. */
int64_t slots_latest(const struct slots *slots, int64_t after_us, int64_t until_us);

/* How long after its instant a slot may start: start_within_ms where that is above 0, else (auto,
 * or 0: one attempt) until the next slot, an hour at most. */
int64_t slots_window_ms(const struct slots *slots, int64_t slot_us, int64_t start_within_ms);

/* The newest slots in (after, until], oldest first, at most SLOTS_BACKLOG_MOST of them. Returns
 * their number; *ret_is_cut tells that there were older ones. */
int slots_backlog(const struct slots *slots, int64_t after_us, int64_t until_us,
                  int64_t ret_slots_us[SLOTS_BACKLOG_MOST], bool *ret_is_cut);

/* The schedule as a number: another one for every other meaning of the table's text. */
uint64_t slots_fingerprint(const struct slots *slots);
