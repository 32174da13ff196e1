/* SPDX-License-Identifier: ISC */
#include "cron/zone_rule.h"

#include "cron/civil.h"

#include <ctype.h>
#include <string.h>

#define PERIOD_YEARS    401  /* one more than the calendar's, so that a whole period is there */
#define FIRST_YEAR      1900 /* of a rule that stands alone */
#define RULE_HOURS_MAX  167
#define NAME_LENGTH_MIN 3

enum date_form {
    DATE_JULIAN,  /* Jn: 1 to 365, February 29 is never counted */
    DATE_ORDINAL, /* n: 0 to 365, February 29 is counted */
    DATE_WEEKDAY, /* Mm.w.d */
};

struct rule_date {
    enum date_form form;
    int day;         /* of the year, or of the week */
    int month, week; /* DATE_WEEKDAY; week 5 is the last */
    int32_t time_s;
};

struct rule {
    size_t standard, summer; /* types */
    int32_t standard_offset_s, summer_offset_s;
    bool has_summer;
    struct rule_date start, end; /* of summer */
};

/* ---- reading: each function moves *at behind what it has read ---- */

static bool read_number(const char **at, int least, int most, int *ret_number)
{
    int number = 0;
    const char *from = *at;
    while (isdigit((unsigned char)**at) && number <= most)
        number = number * 10 + *(*at)++ - '0';
    *ret_number = number;
    return *at > from && number >= least && number <= most;
}

/* [+-]h[h][:mm[:ss]] */
static bool read_time(const char **at, int most_hours, int32_t *ret_s)
{
    int hours, minutes = 0, seconds = 0;
    int sign = **at == '-' ? -1 : 1;
    if (**at == '-' || **at == '+')
        ++*at;
    if (!read_number(at, 0, most_hours, &hours))
        return false;
    if (**at == ':' && (++*at, !read_number(at, 0, 59, &minutes)))
        return false;
    if (**at == ':' && (++*at, !read_number(at, 0, 59, &seconds)))
        return false;
    *ret_s = sign * (hours * 3600 + minutes * 60 + seconds);
    return true;
}

/* "CET" or "<+03>" */
static bool read_name(const char **at, const char **ret_name, size_t *ret_length)
{
    bool is_quoted = **at == '<';
    const char *name = is_quoted ? ++*at : *at;
    while (isalpha((unsigned char)**at) ||
           (is_quoted && (isdigit((unsigned char)**at) || **at == '+' || **at == '-')))
        ++*at;
    *ret_name = name;
    *ret_length = (size_t)(*at - name);
    if (is_quoted && *(*at)++ != '>')
        return false;
    return *ret_length >= NAME_LENGTH_MIN;
}

static bool read_date(const char **at, struct rule_date *ret_date)
{
    *ret_date = (struct rule_date){.time_s = 2 * 3600};
    if (**at == 'M') {
        ret_date->form = DATE_WEEKDAY;
        ++*at;
        if (!read_number(at, 1, 12, &ret_date->month) || *(*at)++ != '.' ||
            !read_number(at, 1, 5, &ret_date->week) || *(*at)++ != '.' ||
            !read_number(at, 0, 6, &ret_date->day))
            return false;
    } else if (**at == 'J') {
        ret_date->form = DATE_JULIAN;
        ++*at;
        if (!read_number(at, 1, 365, &ret_date->day))
            return false;
    } else {
        ret_date->form = DATE_ORDINAL;
        if (!read_number(at, 0, 365, &ret_date->day))
            return false;
    }
    if (**at != '/')
        return true;
    ++*at;
    return read_time(at, RULE_HOURS_MAX, &ret_date->time_s);
}

/* A type of the rule; POSIX's offsets grow westwards. */
static bool read_type(const char **at, struct zone *zone, int32_t usual_offset_s, bool has_usual,
                      size_t *ret_type, int32_t *ret_offset_s)
{
    const char *name;
    size_t length;
    if (!read_name(at, &name, &length))
        return false;
    *ret_offset_s = usual_offset_s;
    if (!has_usual || (**at != ',' && **at != '\0')) {
        if (!read_time(at, 24, ret_offset_s))
            return false;
        *ret_offset_s = -*ret_offset_s;
    }
    *ret_type = zone_file_add_type(zone, *ret_offset_s, name, length);
    return true;
}

static bool read_rule(const char *at, struct zone *zone, struct rule *ret_rule)
{
    *ret_rule = (struct rule){0};
    if (!read_type(&at, zone, 0, false, &ret_rule->standard, &ret_rule->standard_offset_s))
        return false;
    if (*at == '\0')
        return true;
    ret_rule->has_summer = true;
    if (!read_type(&at, zone, ret_rule->standard_offset_s + 3600, true, &ret_rule->summer,
                   &ret_rule->summer_offset_s))
        return false;
    return *at++ == ',' && read_date(&at, &ret_rule->start) && *at++ == ',' &&
           read_date(&at, &ret_rule->end) && *at == '\0';
}

/* ---- applying ---- */

static int64_t day_of(const struct rule_date *date, int64_t year)
{
    int64_t january = civil_days(year, 1, 1);
    bool is_leap = civil_month_days(year, 2) == 29;
    switch (date->form) {
    case DATE_JULIAN:
        return january + date->day - 1 + (is_leap && date->day >= 60);
    case DATE_ORDINAL:
        return january + date->day;
    case DATE_WEEKDAY:
        break;
    }
    int64_t first = civil_days(year, date->month, 1);
    int day = (date->day - civil_weekday(first) + 7) % 7 + (date->week - 1) * 7;
    while (day >= civil_month_days(year, date->month))
        day -= 7;
    return first + day;
}

/* A rule whose hours reach into the next year's may say things out of order: the first one counts.
 */
static void add_after(struct zone *zone, int64_t after_s, int64_t at_s, size_t type)
{
    size_t count = zone->change_count;
    if (at_s > after_s && (count == 0 || at_s >= zone->changes[count - 1].at_s))
        zone_file_add_change(zone, at_s, type);
}

static void add_year(struct zone *zone, const struct rule *rule, int64_t year, int64_t after_s)
{
    int64_t start_s =
        day_of(&rule->start, year) * CIVIL_DAY_S + rule->start.time_s - rule->standard_offset_s;
    int64_t end_s =
        day_of(&rule->end, year) * CIVIL_DAY_S + rule->end.time_s - rule->summer_offset_s;
    if (start_s < end_s)
        add_after(zone, after_s, start_s, rule->summer);
    add_after(zone, after_s, end_s, rule->standard);
    if (start_s >= end_s)
        add_after(zone, after_s, start_s, rule->summer);
}

bool zone_rule_apply(struct zone *zone, const char *text, struct error *err)
{
    struct rule rule;
    if (!read_rule(text, zone, &rule))
        return error_set(err, ERROR_CONFIG, "\"%.60s\" is no rule for a time zone", text);
    if (!rule.has_summer)
        return true;
    int64_t first_year = FIRST_YEAR;
    int64_t after_s = INT64_MIN;
    if (zone->change_count > 0) {
        after_s = zone->changes[zone->change_count - 1].at_s;
        first_year = civil_of_seconds(after_s).year;
    }
    /* A change may lie in the year before or after that of its rule. */
    for (int64_t year = first_year - 1; year <= first_year + PERIOD_YEARS; year++)
        add_year(zone, &rule, year, after_s);
    zone->is_periodic = true;
    return true;
}
