/* SPDX-License-Identifier: ISC */
#include "cron/cron_day.h"

#include "cron/civil.h"

#define SATURDAY 6

/* Bits 1 to 31 whose weekday is in the set, in a month that begins with weekday first. */
static uint32_t spread_weekdays(uint32_t weekdays, int first)
{
    uint32_t week = (weekdays >> first | weekdays << (7 - first)) & 0x7f;
    return (week | week << 7 | week << 14 | week << 21 | week << 28) << 1;
}

/* The day from Monday to Friday that is next to this one, inside the month. */
static int near_day(int day, int month_days, int first)
{
    int weekday = (first + day - 1) % 7;
    if (weekday == SATURDAY)
        return day > 1 ? day - 1 : day + 2;
    if (weekday == 0)
        return day < month_days ? day + 1 : day - 2;
    return day;
}

static uint32_t month_day_mask(const struct cron *cron, int month_days, int first)
{
    uint32_t mask = cron->days & ~UINT32_C(1);
    if (cron->days & 1)
        mask |= UINT32_C(1) << month_days;
    for (uint32_t left = cron->near_days & ~UINT32_C(1); left != 0; left &= left - 1) {
        int day = __builtin_ctz(left);
        if (day <= month_days)
            mask |= UINT32_C(1) << near_day(day, month_days, first);
    }
    if (cron->near_days & 1) {
        int weekday = (first + month_days - 1) % 7;
        mask |= UINT32_C(1) << (month_days - (weekday == SATURDAY ? 1 : weekday == 0 ? 2 : 0));
    }
    return mask;
}

static uint32_t weekday_mask(const struct cron *cron, int month_days, int first)
{
    uint32_t mask = spread_weekdays(cron->weekdays, first);
    for (uint64_t left = cron->nth_weekdays; left != 0; left &= left - 1) {
        int bit = __builtin_ctzll(left);
        int day = 1 + (bit / 5 - first + 7) % 7 + 7 * (bit % 5);
        if (day <= month_days)
            mask |= UINT32_C(1) << day;
    }
    uint32_t last_week = UINT32_C(0x7f) << (month_days - 6);
    return mask | (spread_weekdays(cron->last_weekdays, first) & last_week);
}

uint32_t cron_day_mask(const struct cron *cron, int64_t year, int month)
{
    if (!(cron->months >> month & 1))
        return 0;
    int month_days = civil_month_days(year, month);
    int first = civil_weekday(civil_days(year, month, 1));
    uint32_t days = month_day_mask(cron, month_days, first);
    uint32_t weekdays = weekday_mask(cron, month_days, first);
    bool has_star = cron->stars & (1U << CRON_DAY | 1U << CRON_WEEKDAY);
    uint32_t mask = has_star ? days & weekdays : days | weekdays;
    return mask & (uint32_t)((UINT64_C(2) << month_days) - 2);
}

/* The first matching day in [from, before), days since 1970; INT64_MIN when there is none. */
static int64_t next_day(const struct cron *cron, int64_t from, int64_t before)
{
    struct civil date = civil_of_days(from);
    int64_t month_start = from - (date.day - 1);
    uint32_t not_before = UINT32_MAX << date.day;
    while (month_start < before) {
        uint32_t mask = cron_day_mask(cron, date.year, date.month) & not_before;
        if (mask != 0) {
            int64_t day = month_start + __builtin_ctz(mask) - 1;
            return day < before ? day : INT64_MIN;
        }
        month_start += civil_month_days(date.year, date.month);
        date.month = date.month % 12 + 1;
        date.year += date.month == 1;
        not_before = UINT32_MAX;
    }
    return INT64_MIN;
}

/* The lowest bit that is set at or above `from`, -1 when there is none. */
static int next_bit(uint64_t mask, int from)
{
    uint64_t rest = from > 63 ? 0 : mask & UINT64_MAX << from;
    return rest == 0 ? -1 : __builtin_ctzll(rest);
}

/* The first matching second of the day at or after `from`, -1 when there is none. */
static int64_t next_time(const struct cron *cron, int64_t from)
{
    int hour = next_bit(cron->hours, (int)(from / 3600));
    if (hour < 0)
        return -1;
    int minute = 0, second = 0;
    if (hour == from / 3600) {
        minute = (int)(from / 60 % 60);
        second = (int)(from % 60);
    }
    int found = next_bit(cron->minutes, minute);
    if (found == minute && (second = next_bit(cron->seconds, second)) >= 0)
        return hour * 3600 + minute * 60 + second;
    if (found == minute)
        found = next_bit(cron->minutes, minute + 1);
    if (found < 0) {
        hour = next_bit(cron->hours, hour + 1);
        found = next_bit(cron->minutes, 0);
    }
    return hour < 0 ? -1 : hour * 3600 + found * 60 + next_bit(cron->seconds, 0);
}

int64_t cron_day_next(const struct cron *cron, int64_t from_s, int64_t before_s)
{
    int64_t today = civil_floor_divide(from_s, CIVIL_DAY_S);
    int64_t days_end = civil_floor_divide(before_s - 1, CIVIL_DAY_S) + 1;
    int64_t day = next_day(cron, today, days_end);
    int64_t time = -1;
    if (day == today) {
        time = next_time(cron, from_s - today * CIVIL_DAY_S);
        if (time < 0)
            day = next_day(cron, today + 1, days_end);
    }
    if (day == INT64_MIN)
        return INT64_MIN;
    if (time < 0)
        time = next_time(cron, 0);
    int64_t found_s = day * CIVIL_DAY_S + time;
    return found_s < before_s ? found_s : INT64_MIN;
}

bool cron_day_is_never(const struct cron *cron)
{
    int64_t from = civil_days(2000, 1, 1);
    return next_day(cron, from, from + CIVIL_400_YEARS_S / CIVIL_DAY_S) == INT64_MIN;
}
