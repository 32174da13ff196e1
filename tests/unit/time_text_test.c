/* SPDX-License-Identifier: ISC */
#include "base/time_text.h"
#include "check.h"

#include <stdlib.h>
#include <time.h>

static void instants__are_rfc_3339_in_utc(void **state)
{
    static const struct {
        int64_t wall_us;
        const char *us, *s;
    } table[] = {
        {0, "1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:00Z"},
        {-1, "1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59Z"},
        {-1000000, "1969-12-31T23:59:59.000000Z", "1969-12-31T23:59:59Z"},
        {1709164800000001, "2024-02-29T00:00:00.000001Z", "2024-02-29T00:00:00Z"},
        {2147483648000000, "2038-01-19T03:14:08.000000Z", "2038-01-19T03:14:08Z"},
        {253402300799999999, "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59Z"},
    };
    char text[TIME_TEXT_MAX];
    for (size_t i = 0; i < CASE_COUNT(table); i++) {
        assert_string_equal(time_text_us(table[i].wall_us, text), table[i].us);
        assert_string_equal(time_text_s(table[i].wall_us, text), table[i].s);
    }
}

static void instants__do_not_depend_on_the_time_zone(void **state)
{
    char text[TIME_TEXT_MAX];
    setenv("TZ", "America/New_York", 1);
    tzset();
    assert_string_equal(time_text_s(1772330400000000, text), "2026-03-01T02:00:00Z");
}

static void instants__past_the_calendar__stay_within_their_room(void **state)
{
    char text[TIME_TEXT_MAX];
    time_text_us(INT64_MAX, text);
    time_text_us(INT64_MIN, text);
    time_text_s(INT64_MAX, text);
    assert_true(text[0] != '\0');
}

static void spans__show_their_two_largest_units(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } table[] = {
        {0, "0s"},
        {-5, "0s"},
        {1, "1ms"},
        {999, "999ms"},
        {1000, "1s"},
        {1999, "1s"},
        {59999, "59s"},
        {60000, "1m"},
        {60500, "1m"},
        {125000, "2m 5s"},
        {3600000, "1h"},
        {3605000, "1h"},
        {3780000, "1h 3m"},
        {86400000, "1d"},
        {90000000, "1d 1h"},
        {31536000000, "365d"},
        {INT64_MAX, "106751991167d 7h"},
    };
    char text[TIME_TEXT_MAX];
    for (size_t i = 0; i < CASE_COUNT(table); i++)
        assert_string_equal(time_text_span(table[i].ms, text), table[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instants__are_rfc_3339_in_utc),
        cmocka_unit_test(instants__do_not_depend_on_the_time_zone),
        cmocka_unit_test(instants__past_the_calendar__stay_within_their_room),
        cmocka_unit_test(spans__show_their_two_largest_units),
    };
    return cmocka_run_group_tests_name("time_text", tests, NULL, NULL);
}
