/* SPDX-License-Identifier: ISC */
/* Schedules again, in the plainest way: random expressions as sets of values, and a walk through
 * the calendar second by second or minute by minute with localtime_r(3). Shares no line of code
 * with src/cron. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct walk {
    char text[512]; /* the expression */
    bool is_in[6][61];
    bool has_star[6];
    bool has_last_day, has_last_weekday, near_day[32];
    bool nth[7][6], last[7];
    bool has_seconds;
};

/* A random schedule that is often due: hours and days are mostly open. */
void walk_invent(struct walk *walk, bool has_seconds);

/* A random schedule that is about days: at midnight. */
void walk_invent_days(struct walk *walk);

/* The first slot in (after, after + window], in the zone of zones_use; -1 when there is none. The
 * step is a minute, or a second where the schedule has seconds. */
int64_t walk_next(const struct walk *walk, int64_t after_s, int64_t window_s);

/* Whether the schedule names this date. */
bool walk_has_date(const struct walk *walk, int year, int month, int day);
