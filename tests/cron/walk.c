/* SPDX-License-Identifier: ISC */
#include "walk.h"

#include "zones.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SECOND,
    MINUTE,
    HOUR,
    DAY,
    MONTH,
    WEEKDAY
};

static const int least[] = {0, 0, 0, 1, 1, 0}, most[] = {59, 59, 23, 31, 12, 6};

/* ---- inventing ---- */

static void add(struct walk *walk, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct walk *walk, const char *format, ...)
{
    size_t used = strlen(walk->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(walk->text + used, sizeof walk->text - used, format, arguments);
    va_end(arguments);
}

static void set(struct walk *walk, int field, int from, int to, int step)
{
    for (int value = from; value <= to; value += step)
        walk->is_in[field][field == WEEKDAY ? value % 7 : value] = true;
}

static void invent_star(struct walk *walk, int field, bool is_first)
{
    int step = zones_random(0, 1) ? 1 : (int)zones_random(1, most[field] + 5);
    if (is_first)
        walk->has_star[field] = true;
    add(walk, step == 1 ? "*" : "*/%d", step);
    set(walk, field, least[field], most[field], step);
}

static void invent_range(struct walk *walk, int field)
{
    int highest = field == WEEKDAY ? 7 : most[field];
    int from = (int)zones_random(least[field], highest);
    int to = (int)zones_random(from, highest);
    int step = (int)zones_random(1, 8);
    add(walk, step == 1 ? "%d-%d" : "%d-%d/%d", from, to, step);
    set(walk, field, from, to, step);
}

static void invent_day_word(struct walk *walk)
{
    int day = (int)zones_random(1, 31);
    switch (zones_random(0, 2)) {
    case 0:
        walk->has_last_day = true;
        add(walk, "L");
        return;
    case 1:
        walk->has_last_weekday = true;
        add(walk, "LW");
        return;
    default:
        walk->near_day[day] = true;
        add(walk, "%dW", day);
    }
}

static void invent_weekday_word(struct walk *walk)
{
    int weekday = (int)zones_random(0, 7), nth = (int)zones_random(1, 5);
    if (zones_random(0, 1)) {
        walk->nth[weekday % 7][nth] = true;
        add(walk, "%d#%d", weekday, nth);
    } else {
        walk->last[weekday % 7] = true;
        add(walk, "%dL", weekday);
    }
}

static void invent_item(struct walk *walk, int field, bool is_first)
{
    int value = (int)zones_random(least[field], most[field]);
    switch (zones_random(0, 6)) {
    case 0:
        invent_star(walk, field, is_first);
        return;
    case 1:
    case 2:
        invent_range(walk, field);
        return;
    case 3:
        if (field == DAY || field == WEEKDAY) {
            (field == DAY ? invent_day_word : invent_weekday_word)(walk);
            return;
        }
        break;
    default:
        break;
    }
    add(walk, "%0*d", (int)zones_random(1, 3), value);
    walk->is_in[field][value] = true;
}

static void invent_field(struct walk *walk, int field, int open_percent)
{
    if (walk->text[0] != '\0')
        add(walk, " ");
    if (zones_random(0, 99) < open_percent) {
        walk->has_star[field] = true;
        add(walk, "*");
        set(walk, field, least[field], most[field], 1);
        return;
    }
    int64_t count = zones_random(1, 3);
    for (int64_t i = 0; i < count; i++) {
        add(walk, i == 0 ? "%s" : ",%s", "");
        invent_item(walk, field, i == 0);
    }
}

void walk_invent(struct walk *walk, bool has_seconds)
{
    *walk = (struct walk){.has_seconds = has_seconds};
    if (has_seconds)
        invent_field(walk, SECOND, 20);
    else
        walk->is_in[SECOND][0] = true;
    invent_field(walk, MINUTE, 20);
    invent_field(walk, HOUR, 30);
    invent_field(walk, DAY, 80);
    invent_field(walk, MONTH, 85);
    invent_field(walk, WEEKDAY, 80);
}

void walk_invent_days(struct walk *walk)
{
    *walk = (struct walk){.text = "0 0", .is_in = {{true}, {true}, {true}}};
    invent_field(walk, DAY, 30);
    invent_field(walk, MONTH, 60);
    invent_field(walk, WEEKDAY, 30);
}

/* ---- matching ---- */

static int days_of(int year, int month)
{
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month, .tm_mday = 0};
    timegm(&tm);
    return tm.tm_mday;
}

static int weekday_of(int year, int month, int day)
{
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    timegm(&tm);
    return tm.tm_wday;
}

static bool is_workday(int weekday)
{
    return weekday != 0 && weekday != 6;
}

/* The workday that is nearest to a day of the month and in it: tries 0, -1, +1, -2, +2. */
static int nearest_workday(int year, int month, int day)
{
    static const int distances[] = {0, -1, 1, -2, 2};
    int last = days_of(year, month);
    for (int i = 0; i < 5; i++) {
        int near = day + distances[i];
        if (near >= 1 && near <= last && is_workday(weekday_of(year, month, near)))
            return near;
    }
    return 0;
}

static bool has_day_of_month(const struct walk *walk, int year, int month, int day)
{
    int last = days_of(year, month);
    int last_workday = last;
    while (!is_workday(weekday_of(year, month, last_workday)))
        last_workday--;
    for (int wanted = 1; wanted <= last; wanted++)
        if (walk->near_day[wanted] && nearest_workday(year, month, wanted) == day)
            return true;
    return walk->is_in[DAY][day] || (walk->has_last_day && day == last) ||
           (walk->has_last_weekday && day == last_workday);
}

static bool has_weekday(const struct walk *walk, int year, int month, int day)
{
    int weekday = weekday_of(year, month, day);
    return walk->is_in[WEEKDAY][weekday] || walk->nth[weekday][(day + 6) / 7] ||
           (walk->last[weekday] && day + 7 > days_of(year, month));
}

bool walk_has_date(const struct walk *walk, int year, int month, int day)
{
    if (!walk->is_in[MONTH][month])
        return false;
    bool by_day = has_day_of_month(walk, year, month, day);
    bool by_weekday = has_weekday(walk, year, month, day);
    if (walk->has_star[DAY] || walk->has_star[WEEKDAY])
        return by_day && by_weekday;
    return by_day || by_weekday;
}

/* A reading of a clock, as if it were UTC. */
static bool has_reading(const struct walk *walk, int64_t reading_s)
{
    struct tm tm;
    time_t seconds = (time_t)reading_s;
    gmtime_r(&seconds, &tm);
    return walk->is_in[SECOND][tm.tm_sec] && walk->is_in[MINUTE][tm.tm_min] &&
           walk->is_in[HOUR][tm.tm_hour] &&
           walk_has_date(walk, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

/* ---- walking ---- */

static long offset_of(int64_t at_s)
{
    struct tm tm;
    time_t seconds = (time_t)at_s;
    localtime_r(&seconds, &tm);
    return tm.tm_gmtoff;
}

struct clock {
    long offset;
    int64_t held_until; /* the reading before which a fixed schedule waits */
    bool is_caught_up;  /* a skipped time is due now */
};

static void step_clock(const struct walk *walk, struct clock *clock, int64_t at_s, int64_t step_s,
                       bool is_fixed)
{
    long offset = offset_of(at_s), forward = offset - clock->offset;
    clock->is_caught_up = false;
    if (forward == 0)
        return;
    bool is_small = labs(forward) < 3 * 3600;
    clock->held_until = forward < 0 && is_small && is_fixed ? at_s + clock->offset : INT64_MIN;
    for (int64_t skipped = at_s + clock->offset; skipped < at_s + offset; skipped += step_s)
        clock->is_caught_up |= is_small && is_fixed && has_reading(walk, skipped);
    clock->offset = offset;
}

int64_t walk_next(const struct walk *walk, int64_t after_s, int64_t window_s)
{
    int64_t step_s = walk->has_seconds ? 1 : 60;
    int64_t from_s = after_s - after_s % step_s - 4 * 3600; /* to see a change before it */
    bool is_fixed = !walk->has_star[SECOND] && !walk->has_star[MINUTE] && !walk->has_star[HOUR];
    struct clock clock = {offset_of(from_s), INT64_MIN, false};
    for (int64_t at_s = from_s; at_s <= after_s + window_s; at_s += step_s) {
        step_clock(walk, &clock, at_s, step_s, is_fixed);
        if (at_s <= after_s)
            continue;
        if (clock.is_caught_up)
            return at_s;
        int64_t reading_s = at_s + clock.offset;
        if (reading_s >= clock.held_until && has_reading(walk, reading_s))
            return at_s;
    }
    return -1;
}
