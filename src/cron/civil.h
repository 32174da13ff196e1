/* SPDX-License-Identifier: ISC */
/* Dates and times of day as people write them, in the Gregorian calendar carried back before its
 * time, years before 1 included. No zone: zone.h has those. */
#pragma once
#include <stdint.h>

#define CIVIL_DAY_S       86400
#define CIVIL_400_YEARS_S (INT64_C(146097) * CIVIL_DAY_S) /* after that the calendar repeats */

struct civil {
    int64_t year;
    int month;   /* 1 to 12 */
    int day;     /* 1 to 31 */
    int hour;    /* 0 to 23 */
    int minute;  /* 0 to 59 */
    int second;  /* 0 to 59 */
    int weekday; /* 0 to 6, Sunday is 0; civil_seconds does not look at it */
};

/* Days since 1970-01-01. */
int64_t civil_days(int64_t year, int month, int day);

/* The date of that day, at midnight. */
struct civil civil_of_days(int64_t days);

/* Seconds since 1970-01-01 00:00:00 on a clock that knows no zone, and back. */
int64_t civil_seconds(const struct civil *civil);
struct civil civil_of_seconds(int64_t seconds);

int civil_month_days(int64_t year, int month); /* 28 to 31 */
int civil_weekday(int64_t days);               /* 0 to 6, Sunday is 0 */

/* Division that rounds towards minus infinity, for instants before 1970; divisor above 0. */
int64_t civil_floor_divide(int64_t number, int64_t divisor);
