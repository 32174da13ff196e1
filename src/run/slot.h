/* SPDX-License-Identifier: ISC */
/* `run --once-per`: which slot a run that was typed now belongs to. The slot is named by this
 * host's clock and zone: cron fired just after it by that same clock, so hosts whose clocks differ
 * name the same slot, and the store's clock judges it. */
#pragma once
#include "conf/job.h"

#include <stdint.h>

/* The start of the minute, hour or day (in the local zone) that holds wall_us; NO_INSTANT for
 * ONCE_PER_NONE. */
int64_t slot_of(enum once_per once_per, int64_t wall_us);

/* How long after its slot a run may start by the store's clock: the whole period, and
 * start_within_ms for clocks that differ. */
int64_t slot_window_ms(enum once_per once_per, int64_t start_within_ms);
