/* SPDX-License-Identifier: ISC */
/* Which dates and times of day a calendar schedule names, without zone. For cron*.c alone. */
#pragma once
#include "cron/cron.h"

/* Days of the month that match: bits 1 to 31. */
uint32_t cron_day_mask(const struct cron *cron, int64_t year, int month);

/* The first match in [from, before), local seconds since 1970; INT64_MIN when there is none. */
int64_t cron_day_next(const struct cron *cron, int64_t from_s, int64_t before_s);

/* True when a change of the clock is put right for the schedule: skipped times are due at the
 * change, and repeated ones the first time alone (cron(8): less than 3 hours, and a particular
 * time). */
bool cron_puts_right(const struct cron *cron, const struct zone_span *change);

/* True when no date of the calendar matches. */
bool cron_day_is_never(const struct cron *cron);
