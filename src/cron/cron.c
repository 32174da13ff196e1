/* SPDX-License-Identifier: ISC */
#include "cron/cron.h"

#include "cron/cron_day.h"
#include "cron/cron_hash.h"

#include <stdlib.h>

#define SMALL_CHANGE_S (3 * 3600) /* a change of the clock below this is put right: cron(8) */
#define EARLIEST_S     (-INT64_C(62135596800)) /* the year 1 */

bool cron_puts_right(const struct cron *cron, const struct zone_span *change)
{
    bool is_wildcard = cron->stars & (1U << CRON_SECOND | 1U << CRON_MINUTE | 1U << CRON_HOUR);
    return !is_wildcard && abs(change->offset_s - change->previous_offset_s) < SMALL_CHANGE_S;
}

/* Local times that the clock skipped when the span began, made up for at its start. */
static bool is_due_at_change(const struct cron *cron, const struct zone_span *span)
{
    return span->offset_s > span->previous_offset_s && cron_puts_right(cron, span) &&
           cron_day_next(cron, span->start_s + span->previous_offset_s,
                         span->start_s + span->offset_s) != INT64_MIN;
}

/* The local time from which on slots of the span count: those that come a second time do not. */
static int64_t first_local(const struct cron *cron, const struct zone_span *span, int64_t from_s)
{
    int64_t local_s = from_s + span->offset_s;
    if (span->offset_s >= span->previous_offset_s || !cron_puts_right(cron, span))
        return local_s;
    int64_t passed_s = span->start_s + span->previous_offset_s;
    return local_s > passed_s ? local_s : passed_s;
}

/* The first slot in [from, before), seconds; INT64_MIN when there is none. */
static int64_t next_calendar(const struct cron *cron, const struct zone *zone, int64_t from_s,
                             int64_t before_s)
{
    struct zone_span span;
    while (from_s < before_s) {
        zone_span_at(zone, from_s, &span);
        if (span.start_s == from_s && is_due_at_change(cron, &span))
            return from_s;
        int64_t end_s = span.end_s < before_s ? span.end_s : before_s;
        int64_t local_s =
            cron_day_next(cron, first_local(cron, &span, from_s), end_s + span.offset_s);
        if (local_s != INT64_MIN)
            return local_s - span.offset_s;
        from_s = span.end_s;
    }
    return INT64_MIN;
}

int64_t cron_next_until(const struct cron *cron, const struct zone *zone, int64_t after_us,
                        int64_t until_us)
{
    int64_t from_s = civil_floor_divide(after_us, 1000000) + 1;
    int64_t before_s =
        civil_floor_divide(until_us < CRON_LAST_US ? until_us : CRON_LAST_US, 1000000) + 1;
    int64_t found_s = INT64_MIN;
    if (from_s < EARLIEST_S)
        from_s = EARLIEST_S;
    if (cron->kind == CRON_EVERY)
        found_s = -civil_floor_divide(-from_s, cron->every_s) * cron->every_s;
    else if (cron->kind == CRON_CALENDAR && !cron->is_never)
        found_s = next_calendar(cron, zone, from_s, before_s);
    return found_s != INT64_MIN && found_s < before_s ? found_s * 1000000 : NO_INSTANT;
}

int64_t cron_next(const struct cron *cron, const struct zone *zone, int64_t after_us)
{
    return cron_next_until(cron, zone, after_us, CRON_LAST_US);
}

int64_t cron_latest(const struct cron *cron, const struct zone *zone, int64_t after_us,
                    int64_t until_us)
{
    int64_t found_us = cron_next_until(cron, zone, after_us, until_us);
    if (found_us == NO_INSTANT)
        return NO_INSTANT;
    /* found is a slot, and there is none after high; slots are whole seconds. */
    for (int64_t high_us = until_us; high_us - found_us >= 1000000;) {
        int64_t middle_us = found_us + (high_us - found_us) / 2;
        int64_t later_us = cron_next_until(cron, zone, middle_us, until_us);
        if (later_us == NO_INSTANT)
            high_us = middle_us;
        else
            found_us = later_us;
    }
    return found_us;
}

bool cron_repeats_within_minute(const struct cron *cron)
{
    return cron->kind == CRON_EVERY && cron->every_s <= 60;
}

int64_t cron_jitter_ms(const char *key, int64_t slot_us, int64_t jitter_ms)
{
    if (jitter_ms <= 0)
        return 0;
    uint64_t hash = cron_hash_with(cron_hash_text(key), (uint64_t)slot_us);
    return (int64_t)(hash % (uint64_t)jitter_ms);
}
