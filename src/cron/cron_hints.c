/* SPDX-License-Identifier: ISC */
#include "cron/cron_hints.h"

#include "base/text.h"
#include "cron/cron_day.h"
#include "cron/cron_field.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define YEAR_S      (INT64_C(366) * CIVIL_DAY_S)
#define COMMON_YEAR 2023
#define ALL_HOURS   UINT32_C(0xffffff)

struct hints {
    const struct cron *cron;
    struct cron_hint *found;
    size_t count;
};

static void add(struct hints *hints, enum cron_hint_kind kind, bool is_warning, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

static void add(struct hints *hints, enum cron_hint_kind kind, bool is_warning, const char *format,
                ...)
{
    for (size_t i = 0; i < hints->count; i++)
        if (hints->found[i].kind == kind)
            return;
    struct cron_hint *hint = &hints->found[hints->count++];
    va_list arguments;
    hint->kind = kind;
    hint->is_warning = is_warning;
    va_start(arguments, format);
    vsnprintf(hint->text, sizeof hint->text, format, arguments);
    va_end(arguments);
}

static bool has_star(const struct cron *cron, enum cron_field field)
{
    return cron->stars >> field & 1;
}

/* ---- days ---- */

static bool is_every_day(const struct cron *cron)
{
    for (int month = 1; month <= 12; month++)
        if ((cron->months >> month & 1) &&
            __builtin_popcount(cron_day_mask(cron, COMMON_YEAR, month)) <
                civil_month_days(COMMON_YEAR, month))
            return false;
    return true;
}

static void find_day_traps(struct hints *hints)
{
    const struct cron *cron = hints->cron;
    bool has_day_star = has_star(cron, CRON_DAY), has_weekday_star = has_star(cron, CRON_WEEKDAY);
    bool is_full_day = cron_field_values(cron, CRON_DAY) == UINT64_C(0xfffffffe);
    bool is_full_weekday = cron->weekdays == 0x7f;
    if (!has_day_star && !has_weekday_star)
        add(hints, CRON_HINT_EITHER_DAY, true,
            "day of month and weekday are both given: it is due on days that match either%s",
            is_every_day(cron) ? ", which is every day" : "");
    else if ((has_day_star && !is_full_day && !is_full_weekday) ||
             (has_weekday_star && !is_full_weekday && !is_full_day))
        add(hints, CRON_HINT_BOTH_DAYS, true,
            "%s begins with a star: it is due on days that match both day of month and weekday",
            cron_field_name(has_day_star && !is_full_day ? CRON_DAY : CRON_WEEKDAY));
}

/* Months of the schedule that have no such day, unless a fifth weekday was asked for. */
static void find_short_months(struct hints *hints)
{
    const struct cron *cron = hints->cron;
    TEXT_AUTODONE struct text months = TEXT_INIT;
    if (cron->nth_weekdays != 0)
        return;
    for (int month = 1; month <= 12; month++)
        if ((cron->months >> month & 1) && cron_day_mask(cron, COMMON_YEAR, month) == 0)
            text_addf(&months, " %s", cron_ranges[CRON_MONTH].names[month - 1]);
    if (months.length == 0)
        return;
    bool is_leap_only = (cron->months & (cron->months - 1)) == 0;
    if (is_leap_only)
        add(hints, CRON_HINT_SHORT_MONTHS, false, "February 29 is in leap years alone");
    else
        add(hints, CRON_HINT_SHORT_MONTHS, false,
            "months without such a day have no run:%s; L is the last day of any month",
            text_string(&months));
}

/* ---- steps ---- */

static void find_uneven_step(struct hints *hints, enum cron_field field)
{
    const struct cron_range *range = &cron_ranges[field];
    uint64_t values = cron_field_values(hints->cron, field);
    int size = range->last - range->least + 1;
    if (!has_star(hints->cron, field) || __builtin_popcountll(values) < 2)
        return;
    int first = __builtin_ctzll(values);
    int step = __builtin_ctzll(values & (values - 1)) - first;
    int last = 63 - __builtin_clzll(values);
    if (step == 1 || (last - first) % step != 0 ||
        __builtin_popcountll(values) != (last - first) / step + 1)
        return; /* a list, or no step */
    if (field == CRON_DAY)
        add(hints, CRON_HINT_STEP_UNEVEN, false,
            "day of month */%d is no interval: day %d is followed by day 1 of the next month", step,
            last);
    else if (size % step != 0)
        add(hints, CRON_HINT_STEP_UNEVEN, false,
            "%s */%d is no interval: %d is followed by %d after %d, not %d", range->name, step,
            last, first, size - last + first, step);
}

static void find_step_traps(struct hints *hints)
{
    if (hints->cron->has_beyond_step)
        add(hints, CRON_HINT_STEP_BEYOND, true,
            "a step is as large as its range or larger: it gives the first value alone");
    find_uneven_step(hints, CRON_SECOND);
    find_uneven_step(hints, CRON_MINUTE);
    find_uneven_step(hints, CRON_HOUR);
    if (cron_field_values(hints->cron, CRON_WEEKDAY) == 0x7f)
        find_uneven_step(hints, CRON_DAY);
}

/* ---- clock changes ---- */

static void add_change(struct hints *hints, const struct zone *zone, const struct zone_span *span,
                       enum cron_hint_kind kind, const char *what)
{
    struct civil from = civil_of_seconds(span->start_s + span->previous_offset_s);
    struct civil to = civil_of_seconds(span->start_s + span->offset_s);
    const char *name = zone_name(zone);
    add(hints, kind, kind != CRON_HINT_MOVED,
        "on %04" PRId64 "-%02d-%02d the clock%s%s goes from %02d:%02d to %02d:%02d: %s", from.year,
        from.month, from.day, name[0] != '\0' ? " of " : "", name, from.hour, from.minute, to.hour,
        to.minute, what);
}

/* A schedule for each hour goes on evenly through a change, and needs no word. */
static void find_change(struct hints *hints, const struct zone *zone, const struct zone_span *span)
{
    const struct cron *cron = hints->cron;
    int64_t before_s = span->start_s + span->previous_offset_s;
    int64_t after_s = span->start_s + span->offset_s;
    int64_t low_s = before_s < after_s ? before_s : after_s;
    int64_t high_s = before_s < after_s ? after_s : before_s;
    if (cron->hours == ALL_HOURS || cron_day_next(cron, low_s, high_s) == INT64_MIN)
        return;
    bool is_put_right = cron_puts_right(cron, span);
    if (after_s < before_s && !is_put_right)
        add_change(hints, zone, span, CRON_HINT_DOUBLED, "times in between are due twice");
    else if (after_s > before_s && is_put_right)
        add_change(hints, zone, span, CRON_HINT_MOVED,
                   "times in between are due once, at the change");
    else if (after_s > before_s)
        add_change(hints, zone, span, CRON_HINT_SKIPPED, "times in between are left out");
}

static void find_changes(struct hints *hints, const struct zone *zone, int64_t from_s)
{
    struct zone_span span;
    for (int64_t at_s = from_s;; at_s = span.end_s) {
        zone_span_at(zone, at_s, &span);
        if (at_s > from_s)
            find_change(hints, zone, &span);
        if (span.end_s > from_s + YEAR_S)
            return;
    }
}

size_t cron_hints_find(const struct cron *cron, const struct zone *zone, int64_t from_us,
                       struct cron_hint ret_hints[CRON_HINT_KIND_COUNT])
{
    struct hints hints = {cron, ret_hints, 0};
    if (cron->kind != CRON_CALENDAR)
        return 0;
    find_step_traps(&hints);
    if (cron->is_never) {
        add(&hints, CRON_HINT_NEVER, true, "no date matches: it is never due");
        return hints.count;
    }
    find_day_traps(&hints);
    find_short_months(&hints);
    find_changes(&hints, zone, civil_floor_divide(from_us, 1000000));
    return hints.count;
}
