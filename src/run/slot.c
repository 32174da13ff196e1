/* SPDX-License-Identifier: ISC */
#include "run/slot.h"

#include "base/now.h"

#include <stdbool.h>
#include <time.h>

#define LONGEST_DAY_S (30 * 3600)

static bool is_in_day(time_t when, const struct tm *day)
{
    struct tm local;
    localtime_r(&when, &local);
    return local.tm_year == day->tm_year && local.tm_yday == day->tm_yday;
}

/* Midnight may not exist, or come twice, and then mktime(3) answers by what it was asked before:
 * the day's first instant is looked for. */
static time_t start_of_day(time_t now, const struct tm *day)
{
    time_t before = now - LONGEST_DAY_S;
    time_t within = now;
    while (within - before > 1) {
        time_t middle = before + (within - before) / 2;
        if (is_in_day(middle, day))
            within = middle;
        else
            before = middle;
    }
    return within;
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
        return start_of_day(now, &local) * INT64_C(1000000);
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
