/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "cron/cron.h"
#include "walk.h"
#include "zones.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define US        INT64_C(1000000)
#define DAY_S     INT64_C(86400)
#define LAST_S    INT64_C(2145916800) /* 2038-01-01 */
#define WINDOW_S  (2 * DAY_S)
#define SECONDS_S (4 * 3600)

static struct cron parsed(const char *text)
{
    struct cron cron;
    struct error error;
    if (!cron_parse(text, "", &cron, &error))
        fail_msg("%s: %s", text, error.text);
    return cron;
}

/* ---- against a walk through the calendar ---- */

/* Half of them near a change of the clock. */
static int64_t random_start(const struct zone *zone)
{
    struct zone_span span;
    int64_t at_s = zones_random(DAY_S, LAST_S);
    zone_span_at(zone, at_s, &span);
    if (zones_random(0, 1) && span.start_s > DAY_S)
        at_s = span.start_s + zones_random(-DAY_S, 4 * 3600);
    return at_s;
}

/* Where the offset is not whole minutes, as in Monrovia before 1972, a walk by minutes will not do.
 */
static bool is_by_minutes(const struct zone *zone, int64_t at_s)
{
    struct zone_span before, after;
    zone_span_at(zone, at_s - DAY_S, &before);
    zone_span_at(zone, at_s + WINDOW_S, &after);
    return before.offset_s % 60 == 0 && after.offset_s % 60 == 0 && before.start_s % 60 == 0 &&
           after.start_s % 60 == 0;
}

static void compare_once(const char *name, const struct zone *zone)
{
    struct walk walk;
    int64_t at_s = random_start(zone);
    bool has_seconds = zones_random(0, 9) == 0 || !is_by_minutes(zone, at_s);
    int64_t window_s = has_seconds ? SECONDS_S : WINDOW_S;
    walk_invent(&walk, has_seconds);
    struct cron cron = parsed(walk.text);
    int64_t expected_s = walk_next(&walk, at_s, window_s);
    int64_t next_us = cron_next(&cron, zone, at_s * US);
    if (next_us != NO_INSTANT && next_us <= at_s * US)
        fail_msg("%s in %s after %lld: not later", walk.text, name, (long long)at_s);
    bool is_there = next_us != NO_INSTANT && next_us <= (at_s + window_s) * US;
    if (is_there != (expected_s >= 0) || (is_there && next_us != expected_s * US))
        fail_msg("%s in %s after %lld: %lld, not %lld", walk.text, name, (long long)at_s,
                 (long long)(is_there ? next_us / US : -1), (long long)expected_s);
}

static void random_schedules_in_every_zone__are_due_as_a_walk_finds(void **state)
{
    (void)state;
    size_t count;
    const char *const *names = zones_all(&count);
    const char *cases = getenv("CRON_TEST_CASES");
    int per_zone = cases != NULL ? atoi(cases) : 6;
    assert_true(count > 400);
    for (size_t i = 0; i < count; i++) {
        struct error error;
        const struct zone *zone = zone_find(names[i], &error);
        zones_use(names[i]);
        for (int k = 0; k < per_zone; k++)
            compare_once(names[i], zone);
    }
}

static void compare_dates(void)
{
    struct walk walk;
    walk_invent_days(&walk);
    struct cron cron = parsed(walk.text);
    time_t from = (time_t)(zones_random(0, LAST_S / DAY_S) * DAY_S);
    int64_t slot_us = from * US - 1;
    for (int i = 0; i < 4 * 366; i++, from += DAY_S) {
        struct tm tm;
        gmtime_r(&from, &tm);
        bool is_due = walk_has_date(&walk, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
        int64_t next_us = cron_next(&cron, zone_utc(), slot_us);
        if (is_due != (next_us == from * US))
            fail_msg("%s on %d-%d-%d", walk.text, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
        if (is_due)
            slot_us = next_us;
    }
}

static void random_dates__are_those_of_the_calendar(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++)
        compare_dates();
}

/* ---- formatting ---- */

static void check_round_trip(const char *text)
{
    char formatted[CRON_TEXT_MAX], again[CRON_TEXT_MAX];
    struct cron cron = parsed(text);
    struct cron second = parsed(cron_format(&cron, formatted));
    assert_string_equal(cron_format(&second, again), formatted);
    assert_int_equal(second.stars, cron.stars);
    for (int i = 0; i < 20; i++) {
        int64_t at_us = zones_random(0, LAST_S) * US;
        assert_int_equal(cron_next(&second, zone_utc(), at_us),
                         cron_next(&cron, zone_utc(), at_us));
    }
}

static void a_random_schedule__formatted_and_parsed__is_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < 5000; i++) {
        struct walk walk;
        walk_invent(&walk, i % 2 == 0);
        check_round_trip(walk.text);
    }
}

static const struct {
    const char *text, *formatted;
} forms[] = {
    {"  0\t2 * * *  ", "0 2 * * *"},
    {"@daily", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
    {"@weekly", "0 0 * * 0"},
    {"@yearly", "0 0 1 1 *"},
    {"0 0 2 * * *", "0 2 * * *"},
    {"30 0 2 * * *", "30 0 2 * * *"},
    {"* 0 2 * * *", "* 0 2 * * *"},
    {"*/5 00,06,07,08 ? 1-12 Mon-Fri", "*/5 0,6-8 * * 1-5"},
    {"0 0 1,L,LW,15W * friL,mon#2,sun", "0 0 1,L,LW,15W * 0,1#2,5L"},
    {"*,1 * */2,4 * 7", "* * */2,4 * 0"},
    {"0-59 0-23 1-31 1-12 0-7", "0-59 0-23 1-31 * 0-6"},
    {"0 0 * * fri-sun", "0 0 * * 0,5-6"},
    {"0 0 * * tue-sun/2", "0 0 * * 2,4,6"},
    {"*/90 * * * *", "*/60 * * * *"},
    {"every 30s", "every 30s"},
    {"@every 1.5h", "every 1h30m"},
    {"every 90m", "every 1h30m"},
    {"every 26h", "every 26h"},
    {"@once", "@once"},
    {"@reboot", "@reboot"},
};

static void spellings__have_one_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(forms); i++) {
        char formatted[CRON_TEXT_MAX];
        struct cron cron = parsed(forms[i].text);
        assert_string_equal(cron_format(&cron, formatted), forms[i].formatted);
        check_round_trip(forms[i].text);
    }
}

static void the_longest_schedule__fits(void **state)
{
    (void)state;
    char formatted[CRON_TEXT_MAX];
    struct cron cron = {
        .kind = CRON_CALENDAR,
        .seconds = UINT64_C(0xb6db6db6db6db6d),
        .minutes = UINT64_C(0xb6db6db6db6db6d),
        .hours = 0xb6db6d,
        .days = UINT32_C(0xb6db6db7),
        .near_days = UINT32_MAX,
        .months = 0xb6c,
        .weekdays = 0x2d,
        .nth_weekdays = (UINT64_C(1) << 35) - 1,
        .last_weekdays = 0x7f,
    };
    assert_true(strlen(cron_format(&cron, formatted)) < CRON_TEXT_MAX - 100);
    assert_true(sizeof(struct cron) <= 64);
}

/* ---- bounds ---- */

static int64_t cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * US + now.tv_nsec / 1000;
}

static const struct {
    const char *text;
    const char *slot; /* its year, or "never" */
} far[] = {
    {"0 0 30 2 *", "never"},      {"0 0 31 4 *", "never"},      {"0 0 31 2,4,6 *", "never"},
    {"0 0 30,31 2 */7", "never"}, {"0 0 31W 2,4,6 *", "never"},

    {"0 0 29 2 *", "2096"},       {"0 0 29 2 */7", "2128"},
};

static void dates_that_are_far_or_do_not_exist__take_bounded_time(void **state)
{
    (void)state;
    struct error error;
    const struct zone *zone = zone_find("Europe/Paris", &error);
    for (size_t i = 0; i < CASE_COUNT(far); i++) {
        int64_t start_us = cpu_us();
        struct cron cron = parsed(far[i].text);
        int64_t next_us = cron_next(&cron, zone, INT64_C(3900000000) * US); /* 2093 */
        assert_true(cpu_us() - start_us < 100000);
        if (strcmp(far[i].slot, "never") == 0)
            assert_int_equal(next_us, NO_INSTANT);
        else
            assert_int_equal(zone_to_civil(zone, next_us).year, atoi(far[i].slot));
    }
}

static void any_instant__is_a_start(void **state)
{
    (void)state;
    struct error error;
    struct cron calendar = parsed("0 0 29 2 *"), every = parsed("every 7s");
    static const int64_t starts_us[] = {INT64_MIN, INT64_MIN + 1, -1,        0,
                                        1,         INT64_MAX - 1, INT64_MAX, CRON_LAST_US};
    const struct zone *zone = zone_find("America/New_York", &error);
    for (size_t i = 0; i < CASE_COUNT(starts_us); i++) {
        int64_t next_us = cron_next(&calendar, zone, starts_us[i]);
        assert_true(next_us == NO_INSTANT || next_us > starts_us[i]);
        next_us = cron_next(&every, zone, starts_us[i]);
        assert_true(next_us == NO_INSTANT || next_us > starts_us[i]);
    }
    assert_int_equal(cron_next(&every, zone, CRON_LAST_US), NO_INSTANT);
}

/* ---- the rest of the interface ---- */

static void every__is_a_grid_from_1970_in_every_zone(void **state)
{
    (void)state;
    struct error error;
    struct cron cron = parsed("every 45s");
    assert_int_equal(cron_next(&cron, zone_utc(), 0), 45 * US);
    assert_int_equal(cron_next(&cron, zone_utc(), 45 * US - 1), 45 * US);
    assert_int_equal(cron_next(&cron, zone_utc(), 45 * US), 90 * US);
    assert_int_equal(cron_next(&cron, zone_utc(), -1), 0);
    assert_int_equal(cron_next(&cron, zone_utc(), -45 * US - 1), -45 * US);
    assert_int_equal(cron_next(&cron, zone_find("Asia/Kathmandu", &error), 46 * US), 90 * US);
}

static void only_intervals_up_to_a_minute__repeat_within_a_minute(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool repeats;
    } cases[] = {{"every 1s", true},   {"every 60s", true},    {"every 61s", false},
                 {"* * * * *", false}, {"* * * * * *", false}, {"@once", false}};
    for (size_t i = 0; i < CASE_COUNT(cases); i++) {
        struct cron cron = parsed(cases[i].text);
        assert_int_equal(cron_repeats_within_minute(&cron), cases[i].repeats);
    }
}

static void once_and_reboot__have_no_slots(void **state)
{
    (void)state;
    struct cron once = parsed("@once"), reboot = parsed("@reboot");
    assert_int_equal(once.kind, CRON_ONCE);
    assert_int_equal(reboot.kind, CRON_REBOOT);
    assert_int_equal(cron_next(&once, zone_utc(), 0), NO_INSTANT);
    assert_int_equal(cron_next(&reboot, zone_utc(), 0), NO_INSTANT);
}

static void latest__is_the_last_that_next_finds(void **state)
{
    (void)state;
    struct error error;
    const struct zone *zone = zone_find("Europe/Paris", &error);
    for (int i = 0; i < 2000; i++) {
        struct walk walk;
        walk_invent(&walk, i % 4 == 0);
        struct cron cron = parsed(walk.text);
        int64_t after_us = random_start(zone) * US + zones_random(0, US);
        int64_t until_us = after_us + zones_random(0, 3 * DAY_S * US);
        int64_t last_us = NO_INSTANT, slot_us = after_us;
        for (int k = 0; k < 3000; k++) {
            slot_us = cron_next_until(&cron, zone, slot_us, until_us);
            if (slot_us == NO_INSTANT)
                break;
            last_us = slot_us;
        }
        if (slot_us == NO_INSTANT)
            assert_int_equal(cron_latest(&cron, zone, after_us, until_us), last_us);
        else
            assert_true(cron_latest(&cron, zone, after_us, until_us) >= last_us);
    }
}

static void a_chosen_value__is_the_same_for_a_key_and_differs_between_keys(void **state)
{
    (void)state;
    int seen[60] = {0}, kinds = 0;
    for (int i = 0; i < 1000; i++) {
        char key[16], first[CRON_TEXT_MAX], second[CRON_TEXT_MAX];
        struct cron cron, again;
        struct error error;
        snprintf(key, sizeof key, "job-%d", i);
        assert_true(cron_parse("10~29 ~ * * *", key, &cron, &error));
        assert_true(cron_parse("10~29 ~ * * *", key, &again, &error));
        assert_string_equal(cron_format(&cron, first), cron_format(&again, second));
        assert_int_equal(__builtin_popcountll(cron.minutes), 1);
        assert_int_equal(__builtin_popcount(cron.hours), 1);
        seen[__builtin_ctzll(cron.minutes)]++;
    }
    for (int minute = 0; minute < 60; minute++) {
        assert_true(seen[minute] == 0 || (minute >= 10 && minute <= 29));
        kinds += seen[minute] > 0;
    }
    assert_int_equal(kinds, 20);
}

static void jitter__is_below_its_bound_and_the_same_on_every_replica(void **state)
{
    (void)state;
    int64_t sum_ms = 0;
    for (int64_t slot = 0; slot < 1000; slot++) {
        int64_t jitter_ms = cron_jitter_ms("report", slot * 60 * US, 30000);
        assert_true(jitter_ms >= 0 && jitter_ms < 30000);
        sum_ms += jitter_ms;
    }
    assert_true(sum_ms > 14000 * 1000 && sum_ms < 16000 * 1000);
    assert_int_equal(cron_jitter_ms("report", 60 * US, 0), 0);
    assert_int_equal(cron_jitter_ms("report", 60 * US, 30000), 25405);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_schedules_in_every_zone__are_due_as_a_walk_finds),
        cmocka_unit_test(random_dates__are_those_of_the_calendar),
        cmocka_unit_test(a_random_schedule__formatted_and_parsed__is_the_same),
        cmocka_unit_test(spellings__have_one_form),
        cmocka_unit_test(the_longest_schedule__fits),
        cmocka_unit_test(dates_that_are_far_or_do_not_exist__take_bounded_time),
        cmocka_unit_test(any_instant__is_a_start),
        cmocka_unit_test(every__is_a_grid_from_1970_in_every_zone),
        cmocka_unit_test(only_intervals_up_to_a_minute__repeat_within_a_minute),
        cmocka_unit_test(once_and_reboot__have_no_slots),
        cmocka_unit_test(latest__is_the_last_that_next_finds),
        cmocka_unit_test(a_chosen_value__is_the_same_for_a_key_and_differs_between_keys),
        cmocka_unit_test(jitter__is_below_its_bound_and_the_same_on_every_replica),
    };
    zones_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
