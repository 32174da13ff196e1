/* SPDX-License-Identifier: ISC */
#include "cron/zone_instant.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MICROS 1000000

/* ---- out ---- */

static int32_t offset_at(const struct zone *zone, int64_t wall_us, const char **ret_abbreviation)
{
    struct zone_span span;
    zone_span_at(zone, civil_floor_divide(wall_us, MICROS), &span);
    *ret_abbreviation = span.abbreviation;
    return span.offset_s;
}

const char *zone_instant_format(const struct zone *zone, int64_t wall_us,
                                char ret_text[ZONE_INSTANT_MAX])
{
    const char *abbreviation;
    struct civil local = zone_to_civil(zone, wall_us);
    int32_t offset_s = offset_at(zone, wall_us, &abbreviation);
    int size = abs(offset_s);
    int used =
        snprintf(ret_text, ZONE_INSTANT_MAX, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d%c%02d:%02d",
                 local.year, local.month, local.day, local.hour, local.minute, local.second,
                 offset_s < 0 ? '-' : '+', size / 3600, size / 60 % 60);
    if (size % 60 != 0) /* local mean time, before there were zones */
        snprintf(ret_text + used, (size_t)(ZONE_INSTANT_MAX - used), ":%02d", size % 60);
    return ret_text;
}

const char *zone_instant_describe(const struct zone *zone, int64_t wall_us,
                                  char ret_text[ZONE_INSTANT_MAX])
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    const char *abbreviation;
    struct civil local = zone_to_civil(zone, wall_us);
    offset_at(zone, wall_us, &abbreviation);
    snprintf(ret_text, ZONE_INSTANT_MAX, "%s %04" PRId64 "-%02d-%02d %02d:%02d:%02d %s",
             days[local.weekday], local.year, local.month, local.day, local.hour, local.minute,
             local.second, abbreviation);
    return ret_text;
}

/* ---- in: each moves *at behind what it has read ---- */

static bool read_digits(const char **at, int count, int least, int most, int *ret_number)
{
    int number = 0;
    for (int i = 0; i < count; i++, ++*at) {
        if (!isdigit((unsigned char)**at))
            return false;
        number = number * 10 + **at - '0';
    }
    *ret_number = number;
    return number >= least && number <= most;
}

static bool read_mark(const char **at, char mark)
{
    return *(*at)++ == mark;
}

static bool read_date(const char **at, struct civil *civil)
{
    int year = 0;
    bool is_read = read_digits(at, 4, 1, 9999, &year) && read_mark(at, '-') &&
                   read_digits(at, 2, 1, 12, &civil->month) && read_mark(at, '-') &&
                   read_digits(at, 2, 1, 31, &civil->day);
    civil->year = year;
    return is_read && civil->day <= civil_month_days(year, civil->month);
}

static bool read_time(const char **at, struct civil *civil, int *ret_micros)
{
    if (!read_digits(at, 2, 0, 23, &civil->hour) || !read_mark(at, ':') ||
        !read_digits(at, 2, 0, 59, &civil->minute))
        return false;
    if (**at == ':' && (++*at, !read_digits(at, 2, 0, 59, &civil->second)))
        return false;
    if (**at != '.')
        return true;
    if (!isdigit((unsigned char)*++*at))
        return false;
    for (int scale = MICROS / 10; isdigit((unsigned char)**at); scale /= 10)
        *ret_micros += (*(*at)++ - '0') * scale;
    return true;
}

/* "Z" or "+02:00"; *ret_has_offset is false when neither is there. */
static bool read_offset(const char **at, bool *ret_has_offset, int *ret_offset_s)
{
    int hours, minutes;
    char sign = **at;
    *ret_has_offset = sign != '\0';
    *ret_offset_s = 0;
    if (sign == '\0')
        return true;
    ++*at;
    if (sign == 'Z' || sign == 'z')
        return true;
    if ((sign != '+' && sign != '-') || !read_digits(at, 2, 0, 23, &hours) || !read_mark(at, ':') ||
        !read_digits(at, 2, 0, 59, &minutes))
        return false;
    *ret_offset_s = (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    return true;
}

bool zone_instant_parse(const struct zone *zone, const char *text, int64_t *ret_us,
                        struct error *err)
{
    const char *at = text;
    struct civil civil = {0};
    int micros = 0, offset_s = 0;
    bool has_offset = false;
    bool is_good = read_date(&at, &civil);
    if (is_good && *at != '\0')
        is_good = strchr(" Tt", *at++) != NULL && read_time(&at, &civil, &micros) &&
                  read_offset(&at, &has_offset, &offset_s);
    if (!is_good || *at != '\0')
        return error_set(err, ERROR_CONFIG,
                         "\"%.60s\" is no instant: write 2027-03-28T02:00:00Z, or local time as "
                         "2027-03-28 02:00",
                         text);
    int64_t instants_us[2];
    if (has_offset)
        instants_us[0] = (civil_seconds(&civil) - offset_s) * MICROS;
    else
        zone_from_civil(zone, &civil, instants_us);
    *ret_us = instants_us[0] + micros;
    return true;
}
