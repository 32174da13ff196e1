/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "schedule/slots.h"

#include <string.h>

#define S      INT64_C(1000000)
#define MINUTE (60 * S)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define NOON   (20000 * DAY + 12 * HOUR) /* 2024-10-04T12:00:00Z */

static struct slots slots_of(const char *schedule)
{
    struct slots slots = {.zone = zone_utc()};
    struct error err;
    if (!cron_parse(schedule, "key", &slots.cron, &err))
        fail_msg("%s", err.text);
    return slots;
}

/* ---- windows -------------------------------------------------------------------------------- */

static void window__auto__until_the_next_slot_an_hour_at_most(void **unused)
{
    static const struct {
        const char *schedule;
        int64_t slot_us, window_ms;
    } rows[] = {
        {"every 5s", NOON, 5000},        {"every 60s", NOON, 60000},
        {"* * * * *", NOON, 60000},      {"*/20 * * * *", NOON, 1200000},
        {"0 * * * *", NOON, 3600000},    {"0 12 * * *", NOON, 3600000},
        {"0 12 * * 1-5", NOON, 3600000},
    };
    for (size_t i = 0; i < CASE_COUNT(rows); i++) {
        struct slots slots = slots_of(rows[i].schedule);
        assert_int_equal(slots_window_ms(&slots, rows[i].slot_us, -1), rows[i].window_ms);
        assert_int_equal(slots_window_ms(&slots, rows[i].slot_us, 0), rows[i].window_ms);
    }
}

static void window__given__as_given(void **unused)
{
    struct slots slots = slots_of("every 5s");
    assert_int_equal(slots_window_ms(&slots, NOON, 86400000), 86400000);
}

/* ---- backlog -------------------------------------------------------------------------------- */

static void assert_backlog(const char *schedule, int64_t after_us, int64_t until_us,
                           int expected_count, int64_t first_us, int64_t last_us, bool is_cut)
{
    struct slots slots = slots_of(schedule);
    int64_t found[SLOTS_BACKLOG_MOST];
    bool cut;
    int count = slots_backlog(&slots, after_us, until_us, found, &cut);
    assert_int_equal(count, expected_count);
    assert_int_equal(cut, is_cut);
    if (count == 0)
        return;
    assert_int_equal(found[0], first_us);
    assert_int_equal(found[count - 1], last_us);
    for (int i = 1; i < count; i++)
        assert_int_equal(found[i], slots_next(&slots, found[i - 1])); /* none is left out */
}

static void backlog__nothing_passed__none(void **unused)
{
    assert_backlog("every 60s", NOON, NOON + 59 * S, 0, 0, 0, false);
    assert_backlog("0 12 * * *", NOON, NOON + DAY - 1, 0, 0, 0, false);
}

static void backlog__few_passed__all_oldest_first(void **unused)
{
    assert_backlog("every 60s", NOON, NOON + 3 * MINUTE, 3, NOON + MINUTE, NOON + 3 * MINUTE,
                   false);
    assert_backlog("0 12 * * *", NOON, NOON + 9 * DAY, 9, NOON + DAY, NOON + 9 * DAY, false);
}

static void backlog__just_as_many_as_are_kept__not_cut(void **unused)
{
    assert_backlog("* * * * *", NOON, NOON + 100 * MINUTE, 100, NOON + MINUTE, NOON + 100 * MINUTE,
                   false);
}

static void backlog__one_more__the_newest_are_kept(void **unused)
{
    assert_backlog("* * * * *", NOON, NOON + 101 * MINUTE, 100, NOON + 2 * MINUTE,
                   NOON + 101 * MINUTE, true);
}

static void backlog__a_year_of_seconds__the_newest_in_bounded_time(void **unused)
{
    assert_backlog("every 1s", NOON - 365 * DAY, NOON, 100, NOON - 99 * S, NOON, true);
    assert_backlog("* * * * * *", NOON - 365 * DAY, NOON, 100, NOON - 99 * S, NOON, true);
}

static void backlog__slots_in_clusters__the_newest(void **unused)
{
    /* Ten a day, within ten minutes: the distance of the last two says little of the others. */
    assert_backlog("0-9 12 * * *", NOON - 365 * DAY, NOON + HOUR, 100, NOON - 9 * DAY,
                   NOON + 9 * MINUTE, true);
}

/* ---- names ---------------------------------------------------------------------------------- */

static void offset__jobs_of_one_key__their_slots_lie_apart(void **unused)
{
    struct slots slots = slots_of("every 60s");
    slots.offset_us = 7;
    assert_int_equal(slots_next(&slots, NOON), NOON + 7);
    assert_int_equal(slots_next(&slots, NOON + 7), NOON + MINUTE + 7);
    assert_int_equal(slots_latest(&slots, NOON, NOON + MINUTE), NOON + 7);
    assert_int_equal(slots_window_ms(&slots, NOON + 7, -1), 60000);
}

static void assert_fingerprints(bool is_same, const char *a, const char *b)
{
    struct slots slots_a = slots_of(a), slots_b = slots_of(b);
    assert_int_equal(slots_fingerprint(&slots_a) == slots_fingerprint(&slots_b), is_same);
}

static void fingerprint__another_spelling__the_same(void **unused)
{
    assert_fingerprints(true, "@daily", "0 0 * * *");
    assert_fingerprints(true, "0 2 * * 7", "0 2 * * SUN");
}

static void fingerprint__another_schedule__another(void **unused)
{
    assert_fingerprints(false, "0 2 * * *", "0 3 * * *");
    assert_fingerprints(false, "every 60s", "* * * * *");
    assert_fingerprints(false, "every 60s", "every 61s");
}

static void fingerprint__another_zone__another(void **unused)
{
    struct error err;
    struct slots slots = slots_of("0 2 * * *");
    uint64_t here = slots_fingerprint(&slots);
    slots.zone = zone_find("Europe/Paris", &err);
    assert_non_null(slots.zone);
    assert_true(slots_fingerprint(&slots) != here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(window__auto__until_the_next_slot_an_hour_at_most),
        cmocka_unit_test(window__given__as_given),
        cmocka_unit_test(backlog__nothing_passed__none),
        cmocka_unit_test(backlog__few_passed__all_oldest_first),
        cmocka_unit_test(backlog__just_as_many_as_are_kept__not_cut),
        cmocka_unit_test(backlog__one_more__the_newest_are_kept),
        cmocka_unit_test(backlog__a_year_of_seconds__the_newest_in_bounded_time),
        cmocka_unit_test(backlog__slots_in_clusters__the_newest),
        cmocka_unit_test(offset__jobs_of_one_key__their_slots_lie_apart),
        cmocka_unit_test(fingerprint__another_spelling__the_same),
        cmocka_unit_test(fingerprint__another_schedule__another),
        cmocka_unit_test(fingerprint__another_zone__another),
    };
    return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
