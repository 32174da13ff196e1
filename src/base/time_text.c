/* SPDX-License-Identifier: ISC */
#include "base/time_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static struct tm split(int64_t wall_us, int64_t *ret_rest_us)
{
    int64_t rest = wall_us % 1000000;
    time_t seconds = (time_t)(wall_us / 1000000);
    if (rest < 0) {
        rest += 1000000;
        seconds -= 1;
    }
    struct tm tm;
    gmtime_r(&seconds, &tm);
    *ret_rest_us = rest;
    return tm;
}

const char *time_text_us(int64_t wall_us, char ret_text[TIME_TEXT_MAX])
{
    int64_t rest;
    struct tm tm = split(wall_us, &rest);
    size_t used = strftime(ret_text, TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(ret_text + used, TIME_TEXT_MAX - used, ".%06" PRId64 "Z", rest);
    return ret_text;
}

const char *time_text_s(int64_t wall_us, char ret_text[TIME_TEXT_MAX])
{
    int64_t rest;
    struct tm tm = split(wall_us, &rest);
    strftime(ret_text, TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return ret_text;
}

const char *time_text_span(int64_t ms, char ret_text[TIME_TEXT_MAX])
{
    static const struct unit {
        const char *name;
        int64_t ms;
    } units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    enum {
        LAST = sizeof units / sizeof units[0] - 1
    };
    if (ms <= 0)
        return snprintf(ret_text, TIME_TEXT_MAX, "0s"), ret_text;
    int at = 0;
    while (units[at].ms > ms)
        at++;
    int used =
        snprintf(ret_text, TIME_TEXT_MAX, "%" PRId64 "%s", ms / units[at].ms, units[at].name);
    int64_t rest = ms % units[at].ms;
    if (at < LAST - 1 && rest >= units[at + 1].ms)
        snprintf(ret_text + used, (size_t)(TIME_TEXT_MAX - used), " %" PRId64 "%s",
                 rest / units[at + 1].ms, units[at + 1].name);
    return ret_text;
}
