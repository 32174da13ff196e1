/* SPDX-License-Identifier: ISC */
#include "cron/civil.h"

#include <stdbool.h>

#define DAYS_TO_1970 719468 /* from 0000-03-01 */
#define DAYS_400     146097

int64_t civil_floor_divide(int64_t number, int64_t divisor)
{
    return number / divisor - (number % divisor < 0);
}

/* Years are counted from March, so that a leap day is the last of its year: month m (March is 0)
 * then begins (153 m + 2) / 5 days after March 1. */
int64_t civil_days(int64_t year, int month, int day)
{
    int64_t march_year = month > 2 ? year : year - 1;
    int64_t era = civil_floor_divide(march_year, 400);
    int64_t year_of_era = march_year - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * DAYS_400 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           DAYS_TO_1970;
}

struct civil civil_of_days(int64_t days)
{
    int64_t since = days + DAYS_TO_1970;
    int64_t era = civil_floor_divide(since, DAYS_400);
    int64_t day_of_era = since - era * DAYS_400;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int march_month = (int)((5 * day_of_year + 2) / 153);
    struct civil civil = {
        .year = era * 400 + year_of_era + (march_month > 9),
        .month = march_month > 9 ? march_month - 9 : march_month + 3,
        .day = (int)(day_of_year - (153 * march_month + 2) / 5) + 1,
        .weekday = civil_weekday(days),
    };
    return civil;
}

int64_t civil_seconds(const struct civil *civil)
{
    return civil_days(civil->year, civil->month, civil->day) * CIVIL_DAY_S + civil->hour * 3600 +
           civil->minute * 60 + civil->second;
}

struct civil civil_of_seconds(int64_t seconds)
{
    int64_t days = civil_floor_divide(seconds, CIVIL_DAY_S);
    int rest = (int)(seconds - days * CIVIL_DAY_S);
    struct civil civil = civil_of_days(days);
    civil.hour = rest / 3600;
    civil.minute = rest / 60 % 60;
    civil.second = rest % 60;
    return civil;
}

int civil_month_days(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month == 2 && is_leap ? 29 : days[month - 1];
}

int civil_weekday(int64_t days)
{
    return (int)(days + 4 - civil_floor_divide(days + 4, 7) * 7); /* 1970-01-01 was a Thursday */
}
