/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "log/event.h"

#include <ctype.h>
#include <string.h>

static void every_event__has_a_whole_row(void **state)
{
    (void)state;
    for (int i = 0; i < EVENT_COUNT; i++) {
        assert_non_null(events[i].name);
        assert_non_null(events[i].when);
        assert_non_null(events[i].fields);
        assert_true(islower((unsigned char)events[i].when[0]));
        assert_int_not_equal(events[i].when[strlen(events[i].when) - 1], '.');
        assert_int_equal(strspn(events[i].name, "abcdefghijklmnopqrstuvwxyz_"),
                         strlen(events[i].name));
    }
}

static void every_name__is_there_once(void **state)
{
    (void)state;
    for (int i = 0; i < EVENT_COUNT; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(events[i].name, events[j].name);
}

static void levels__as_run_has_them(void **state)
{
    static const struct {
        enum event event;
        enum level level;
    } rows[] = {
        {EVENT_CLAIM_WON, LEVEL_DEBUG},    {EVENT_RUN_FINISHED, LEVEL_DEBUG},
        {EVENT_CLAIM_HELD, LEVEL_INFO},    {EVENT_SLOT_DONE, LEVEL_DEBUG},
        {EVENT_CLAIM_FAILED, LEVEL_ERROR}, {EVENT_SLOT_MISSED, LEVEL_ERROR},
        {EVENT_RENEW_FAILED, LEVEL_WARN},  {EVENT_STORE_LOST, LEVEL_WARN},
        {EVENT_LEASE_LOST, LEVEL_ERROR},   {EVENT_RUN_ABANDONED, LEVEL_ERROR},
        {EVENT_LEFTOVERS, LEVEL_WARN},     {EVENT_STORE_RESTORED, LEVEL_INFO},
    };
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(rows); i++)
        assert_int_equal(events[rows[i].event].level, rows[i].level);
}

static void level_names__read_back(void **state)
{
    (void)state;
    for (int level = 0; level < LEVEL_COUNT; level++)
        assert_int_equal(level_parse(level_name((enum level)level)), level);
    assert_int_equal(level_parse("warning"), -1);
    assert_int_equal(level_parse(""), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event__has_a_whole_row),
        cmocka_unit_test(every_name__is_there_once),
        cmocka_unit_test(levels__as_run_has_them),
        cmocka_unit_test(level_names__read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
