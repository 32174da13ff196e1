/* SPDX-License-Identifier: ISC */
/* What a schedule says that its writer may not have meant. None of it is a fault: the schedule is
 * kept as its rules say. */
#pragma once
#include "cron/cron.h"

#include <stddef.h>

enum cron_hint_kind {
    CRON_HINT_NEVER,        /* no date matches: February 30 */
    CRON_HINT_EITHER_DAY,   /* both day fields are restricted: either one suffices */
    CRON_HINT_BOTH_DAYS,    /* one begins with a star and a step: both must match */
    CRON_HINT_SHORT_MONTHS, /* a month has no such day, and no run */
    CRON_HINT_STEP_BEYOND,  /* a step beyond its range: the first value alone */
    CRON_HINT_STEP_UNEVEN,  /* a step that does not divide its range: not an interval */
    CRON_HINT_SKIPPED,      /* the clock skips times of the schedule: they have no slot */
    CRON_HINT_MOVED,        /* the clock skips times of the schedule: due at the change */
    CRON_HINT_DOUBLED,      /* times of the schedule come twice, and so do the slots */
    CRON_HINT_KIND_COUNT
};

struct cron_hint {
    enum cron_hint_kind kind;
    bool is_warning; /* a mistake more often than not; the others are worth knowing */
    char text[256];  /* one sentence, without the schedule */
};

/* What there is to say of the schedule in that zone, the clock's changes of a year after `from`
 * included: each kind at most once. Returns how many. */
size_t cron_hints_find(const struct cron *cron, const struct zone *zone, int64_t from_us,
                       struct cron_hint ret_hints[CRON_HINT_KIND_COUNT]);
