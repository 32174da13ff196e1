/* SPDX-License-Identifier: ISC */
#include "base/now.h"
#include "check.h"
#include "run/slot.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void enter_zone(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

static int64_t seconds_of(const char *utc)
{
    struct tm tm = {0};
    assert_non_null(strptime(utc, "%Y-%m-%dT%H:%M:%SZ", &tm));
    return timegm(&tm);
}

static const struct row {
    const char *zone;
    enum once_per once_per;
    const char *now, *slot;
} rows[] = {
    {"UTC", ONCE_PER_MINUTE, "2026-03-01T02:00:00Z", "2026-03-01T02:00:00Z"},
    {"UTC", ONCE_PER_MINUTE, "2026-03-01T02:00:59Z", "2026-03-01T02:00:00Z"},
    {"UTC", ONCE_PER_HOUR, "2026-03-01T02:59:59Z", "2026-03-01T02:00:00Z"},
    {"UTC", ONCE_PER_DAY, "2026-03-01T23:59:59Z", "2026-03-01T00:00:00Z"},
    {"UTC", ONCE_PER_DAY, "2024-02-29T12:00:00Z", "2024-02-29T00:00:00Z"},
    {"UTC", ONCE_PER_DAY, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
    /* hours that begin at :30 and :15 of UTC's */
    {"Asia/Kolkata", ONCE_PER_MINUTE, "2026-03-01T02:10:07Z", "2026-03-01T02:10:00Z"},
    {"Asia/Kolkata", ONCE_PER_HOUR, "2026-03-01T02:10:07Z", "2026-03-01T01:30:00Z"},
    {"Asia/Kolkata", ONCE_PER_HOUR, "2026-03-01T02:30:00Z", "2026-03-01T02:30:00Z"},
    {"Asia/Kolkata", ONCE_PER_DAY, "2026-03-01T18:29:59Z", "2026-02-28T18:30:00Z"},
    {"Asia/Kathmandu", ONCE_PER_HOUR, "2026-03-01T02:10:00Z", "2026-03-01T01:15:00Z"},
    {"Asia/Kathmandu", ONCE_PER_HOUR, "2026-03-01T02:15:00Z", "2026-03-01T02:15:00Z"},
    {"Asia/Kathmandu", ONCE_PER_DAY, "2026-03-01T18:15:00Z", "2026-03-01T18:15:00Z"},
    {"Pacific/Chatham", ONCE_PER_HOUR, "2026-07-01T02:10:00Z", "2026-07-01T01:15:00Z"},
    /* clocks go forward: the hour that follows 01:59 is 03:00 */
    {"Europe/Paris", ONCE_PER_HOUR, "2026-03-29T00:59:59Z", "2026-03-29T00:00:00Z"},
    {"Europe/Paris", ONCE_PER_HOUR, "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z"},
    {"Europe/Paris", ONCE_PER_DAY, "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z"},
    {"Europe/Paris", ONCE_PER_DAY, "2026-03-29T21:59:59Z", "2026-03-28T23:00:00Z"},
    {"Europe/Paris", ONCE_PER_DAY, "2026-03-29T22:00:00Z", "2026-03-29T22:00:00Z"},
    /* clocks go back: both hours called 02 are hours; the day has 25 */
    {"Europe/Paris", ONCE_PER_HOUR, "2026-10-25T00:30:00Z", "2026-10-25T00:00:00Z"},
    {"Europe/Paris", ONCE_PER_HOUR, "2026-10-25T01:30:00Z", "2026-10-25T01:00:00Z"},
    {"Europe/Paris", ONCE_PER_MINUTE, "2026-10-25T01:30:30Z", "2026-10-25T01:30:00Z"},
    {"Europe/Paris", ONCE_PER_DAY, "2026-10-25T22:59:59Z", "2026-10-24T22:00:00Z"},
    {"Europe/Paris", ONCE_PER_DAY, "2026-10-25T23:00:00Z", "2026-10-25T23:00:00Z"},
    /* midnight does not exist */
    {"America/Sao_Paulo", ONCE_PER_DAY, "2018-11-04T02:59:59Z", "2018-11-03T03:00:00Z"},
    {"America/Sao_Paulo", ONCE_PER_DAY, "2018-11-04T03:00:00Z", "2018-11-04T03:00:00Z"},
    {"America/Sao_Paulo", ONCE_PER_DAY, "2018-11-04T15:00:00Z", "2018-11-04T03:00:00Z"},
    {"America/Sao_Paulo", ONCE_PER_DAY, "2018-11-05T01:59:59Z", "2018-11-04T03:00:00Z"},
    {"America/Sao_Paulo", ONCE_PER_DAY, "2018-11-05T02:00:00Z", "2018-11-05T02:00:00Z"},
    {"Asia/Beirut", ONCE_PER_DAY, "2022-03-26T21:59:59Z", "2022-03-25T22:00:00Z"},
    {"Asia/Beirut", ONCE_PER_DAY, "2022-03-26T22:00:00Z", "2022-03-26T22:00:00Z"},
    {"Asia/Beirut", ONCE_PER_DAY, "2022-03-27T12:00:00Z", "2022-03-26T22:00:00Z"},
    {"Asia/Beirut", ONCE_PER_HOUR, "2022-03-26T22:30:00Z", "2022-03-26T22:00:00Z"},
    /* midnight comes twice: the first begins the day */
    {"America/Havana", ONCE_PER_DAY, "2026-11-01T03:59:59Z", "2026-10-31T04:00:00Z"},
    {"America/Havana", ONCE_PER_DAY, "2026-11-01T04:30:00Z", "2026-11-01T04:00:00Z"},
    {"America/Havana", ONCE_PER_DAY, "2026-11-01T05:00:00Z", "2026-11-01T04:00:00Z"},
    {"America/Havana", ONCE_PER_DAY, "2026-11-01T20:00:00Z", "2026-11-01T04:00:00Z"},
    /* the last hour of a day comes twice */
    {"America/Sao_Paulo", ONCE_PER_DAY, "2018-02-18T01:30:00Z", "2018-02-17T02:00:00Z"},
    {"America/Sao_Paulo", ONCE_PER_DAY, "2018-02-18T02:30:00Z", "2018-02-17T02:00:00Z"},
    {"America/Sao_Paulo", ONCE_PER_DAY, "2018-02-18T03:00:00Z", "2018-02-18T03:00:00Z"},
    /* a day that was left out: the 30th */
    {"Pacific/Apia", ONCE_PER_DAY, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"},
    {"Pacific/Apia", ONCE_PER_DAY, "2011-12-30T09:59:59Z", "2011-12-29T10:00:00Z"},
};

static void slot__zone_and_clock_change__start_of_what_holds_the_instant(void **unused)
{
    for (size_t i = 0; i < CASE_COUNT(rows); i++) {
        enter_zone(rows[i].zone);
        int64_t slot = slot_of(rows[i].once_per, seconds_of(rows[i].now) * 1000000 + 999999);
        if (slot != seconds_of(rows[i].slot) * 1000000)
            fail_msg("row %zu, %s at %s: %" PRId64 " s off", i, rows[i].zone, rows[i].now,
                     slot / 1000000 - seconds_of(rows[i].slot));
    }
}

static void slot__none__no_instant(void **unused)
{
    assert_true(slot_of(ONCE_PER_NONE, 1767261600000000) == NO_INSTANT);
}

static const char *const zones[] = {
    "UTC",
    "Europe/Paris",
    "Europe/Lisbon",
    "America/New_York",
    "America/St_Johns",
    "America/Sao_Paulo",
    "America/Havana",
    "America/Asuncion",
    "America/Santiago",
    "America/Scoresbysund",
    "America/Nuuk",
    "Atlantic/Azores",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Asia/Beirut",
    "Asia/Gaza",
    "Asia/Tehran",
    "Asia/Amman",
    "Asia/Damascus",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "Pacific/Chatham",
    "Pacific/Apia",
    "Pacific/Easter",
};

static bool is_same_day(time_t a, time_t b)
{
    struct tm left, right;
    localtime_r(&a, &left);
    localtime_r(&b, &right);
    return left.tm_year == right.tm_year && left.tm_yday == right.tm_yday;
}

#define QUARTER_S 900
#define STEP_S    (6 * 3600)

static long offset_at(time_t when)
{
    struct tm local;
    localtime_r(&when, &local);
    return local.tm_gmtoff;
}

/* Quarters of an hour around clock changes, a quarter of a day elsewhere. */
static time_t step_from(time_t now)
{
    bool is_quiet = offset_at(now) == offset_at(now + 2 * STEP_S) &&
                    offset_at(now) == offset_at(now - 6 * STEP_S);
    return now + (is_quiet ? STEP_S : QUARTER_S);
}

/* Whatever the C library looked up last must not matter: it guesses from that. */
static int64_t slot_s(enum once_per once_per, time_t now)
{
    time_t other = now + 180 * 86400;
    slot_of(once_per, other * INT64_C(1000000));
    return slot_of(once_per, now * INT64_C(1000000)) / 1000000;
}

/* Two hosts that name a slot within the same day must name the same: its first instant. */
static int check_days(const char *zone)
{
    int day_count = 0;
    time_t from = seconds_of("2022-01-01T00:00:00Z"), to = seconds_of("2026-01-01T00:00:00Z");
    int64_t last = 0;
    enter_zone(zone);
    for (time_t now = from; now < to; now = step_from(now)) {
        int64_t slot = slot_s(ONCE_PER_DAY, now);
        if (slot > now || now - slot >= 27 * 3600 || !is_same_day(slot, now) ||
            is_same_day(slot - 1, now))
            fail_msg("%s at %" PRId64 ": the day does not begin at %" PRId64, zone, (int64_t)now,
                     slot);
        day_count += slot != last;
        last = slot;
    }
    return day_count;
}

static void slot__every_day_of_many_zones__begins_once(void **unused)
{
    for (size_t i = 0; i < CASE_COUNT(zones); i++)
        assert_in_range(check_days(zones[i]), 1461, 1462);
}

/* An hour's slot lies less than an hour back and never moves back, whatever clocks do. */
static void slot__every_hour_of_many_zones__in_order(void **unused)
{
    time_t from = seconds_of("2022-01-01T00:00:00Z"), to = seconds_of("2026-01-01T00:00:00Z");
    for (size_t i = 0; i < CASE_COUNT(zones); i++) {
        enter_zone(zones[i]);
        int64_t last = 0;
        for (time_t now = from; now < to; now = step_from(now)) {
            int64_t slot = slot_s(ONCE_PER_HOUR, now);
            if (slot < last || slot > now || now - slot >= 3600)
                fail_msg("%s at %" PRId64 ": %" PRId64, zones[i], (int64_t)now, slot);
            last = slot;
        }
    }
}

static void window__period__and_start_within(void **unused)
{
    assert_int_equal(slot_window_ms(ONCE_PER_NONE, 60000), 60000);
    assert_int_equal(slot_window_ms(ONCE_PER_MINUTE, 60000), 120000);
    assert_int_equal(slot_window_ms(ONCE_PER_HOUR, 60000), 3660000);
    assert_true(slot_window_ms(ONCE_PER_DAY, 0) >= 25 * 3600 * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slot__zone_and_clock_change__start_of_what_holds_the_instant),
        cmocka_unit_test(slot__none__no_instant),
        cmocka_unit_test(slot__every_day_of_many_zones__begins_once),
        cmocka_unit_test(slot__every_hour_of_many_zones__in_order),
        cmocka_unit_test(window__period__and_start_within),
    };
    return cmocka_run_group_tests_name("slot", tests, NULL, NULL);
}
