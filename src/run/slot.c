/* SPDX-License-Identifier: ISC */
#include "run/slot.h"

#include "base/now.h"

#include <time.h>

static int64_t start_of_day(struct tm local)
{
    local.tm_sec = local.tm_min = local.tm_hour = 0;
    local.tm_isdst = -1;
    return mktime(&local); /* where midnight does not exist, the first instant after it */
}

int64_t slot_of(enum once_per once_per, int64_t wall_us)
{
    int64_t seconds = wall_us / 1000000;
    time_t now = (time_t)seconds;
    struct tm local;
    localtime_r(&now, &local);
    switch (once_per) {
    case ONCE_PER_NONE:
        return NO_INSTANT;
    case ONCE_PER_MINUTE:
        return (seconds - local.tm_sec) * 1000000;
    case ONCE_PER_HOUR:
        return (seconds - local.tm_sec - local.tm_min * 60) * 1000000;
    case ONCE_PER_DAY:
        return start_of_day(local) * 1000000;
    }
    return NO_INSTANT;
}

int64_t slot_window_ms(enum once_per once_per, int64_t start_within_ms)
{
    static const int64_t periods_ms[] = {
        [ONCE_PER_NONE] = 0,
        [ONCE_PER_MINUTE] = 60 * 1000,
        [ONCE_PER_HOUR] = 3600 * 1000,
        [ONCE_PER_DAY] = 25 * 3600 * 1000, /* a day of 25 hours, when clocks go back */
    };
    return periods_ms[once_per] + start_within_ms;
}
