/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "conf/value.h"

#include <string.h>

static const struct {
    const char *text;
    int64_t ms;
    const char *formatted;
} durations[] = {
    {"0", 0, "0"},
    {"0s", 0, "0"},
    {"1ms", 1, "1ms"},
    {"500ms", 500, "500ms"},
    {"10s", 10000, "10s"},
    {"08s", 8000, "8s"},
    {"90s", 90000, "1m 30s"},
    {"3m", 180000, "3m"},
    {"1h 30m", 5400000, "1h 30m"},
    {"1h30m", 5400000, "1h 30m"},
    {"26h", 93600000, "1d 2h"},
    {"1w 1d 1h 1m 1s 1ms", 694861001, "1w 1d 1h 1m 1s 1ms"},
    {"2w", 1209600000, "2w"},
    {"5200w", VALUE_DURATION_MAX_MS, "5200w"},
};

static void durations__parse_and_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(durations); i++) {
        struct error error;
        char formatted[VALUE_TEXT_MAX];
        int64_t ms = -1, again = -1;
        assert_true(value_parse_duration(durations[i].text, &ms, &error));
        assert_int_equal(ms, durations[i].ms);
        assert_string_equal(value_format_duration(ms, formatted), durations[i].formatted);
        assert_true(value_parse_duration(formatted, &again, &error));
        assert_int_equal(again, ms);
    }
}

/* What is said must help: the part that it names. */
static const struct {
    const char *text;
    const char *said;
} bad_durations[] = {
    {"", "empty"},
    {"10", "10s"},
    {"1h 30", "30s"},
    {"-5s", "negative"},
    {"5x", "units"},
    {"5 s", "units"},
    {"1.5s", "units"},
    {"s", "units"},
    {"abc", "units"},
    {"1m 1h", "units"},
    {"1s 1s", "units"},
    {"1h  30m", "units"},
    {" 1h", "units"},
    {"1h ", "units"},
    {"1H", "units"},
    {"5min", "units"},
    {"9223372036854775807s", "too long"},
    {"9223372036854775807ms", "too long"},
    {"5200w 1ms", "the longest possible is 5200w"},
    {"99999999999999999999s", "too long"},
    {"00", "unit"},
};

static void bad_durations__are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(bad_durations); i++) {
        struct error error = {0};
        int64_t ms = 77;
        assert_false(value_parse_duration(bad_durations[i].text, &ms, &error));
        assert_int_equal(ms, 77);
        if (strstr(error.text, bad_durations[i].said) == NULL)
            fail_msg("\"%s\": %s", bad_durations[i].text, error.text);
    }
}

static void counts(void **state)
{
    (void)state;
    struct error error;
    int64_t count;
    assert_true(value_parse_count("0", &count, &error) && count == 0);
    assert_true(value_parse_count("0010", &count, &error) && count == 10);
    assert_true(value_parse_count("9223372036854775807", &count, &error) && count == INT64_MAX);
    static const char *const bad[] = {
        "", "-1", "+1", " 1", "1 ", "abc", "1.5", "0x10", "9223372036854775808"};
    for (size_t i = 0; i < CASE_COUNT(bad); i++)
        assert_false(value_parse_count(bad[i], &count, &error));
}

static void sizes__parse_and_format(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes;
        const char *formatted;
    } rows[] = {
        {"0", 0, "0"},
        {"1000", 1000, "1000"},
        {"64K", 65536, "64K"},
        {"64KiB", 65536, "64K"},
        {"64k", 65536, "64K"},
        {"1M", 1048576, "1M"},
        {"2GiB", 2147483648, "2G"},
        {"1536K", 1572864, "1536K"},
        {"7B", 7, "7"},
    };
    for (size_t i = 0; i < CASE_COUNT(rows); i++) {
        struct error error;
        char formatted[VALUE_TEXT_MAX];
        int64_t bytes = -1;
        assert_true(value_parse_size(rows[i].text, &bytes, &error));
        assert_int_equal(bytes, rows[i].bytes);
        assert_string_equal(value_format_size(bytes, formatted), rows[i].formatted);
    }
    static const char *const bad[] = {"", "K", "-1", "1T", "1 K", "9223372036854775807K"};
    for (size_t i = 0; i < CASE_COUNT(bad); i++) {
        struct error error;
        int64_t bytes;
        assert_false(value_parse_size(bad[i], &bytes, &error));
    }
}

static void switches(void **state)
{
    (void)state;
    struct error error;
    bool is_on;
    assert_true(value_parse_switch("yes", &is_on, &error) && is_on);
    assert_true(value_parse_switch("off", &is_on, &error) && !is_on);
    assert_false(value_parse_switch("1", &is_on, &error));
    assert_false(value_parse_switch("", &is_on, &error));
    assert_false(value_parse_switch("Yes", &is_on, &error));
}

static void choices__wrong_one_lists_all_and_suggests(void **state)
{
    (void)state;
    static const struct value_choice choices[] = {
        {"minute", 1}, {"hour", 2}, {"day", 3}, {NULL, 0}};
    struct error error;
    int value = 0;
    assert_true(value_parse_choice("hour", choices, &value, &error));
    assert_int_equal(value, 2);
    assert_false(value_parse_choice("minut", choices, &value, &error));
    assert_string_equal(error.text, "\"minut\" is not one of minute, hour or day; did you mean "
                                    "minute?");
    assert_false(value_parse_choice("year", choices, &value, &error));
    assert_int_equal(value, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations__parse_and_format),
        cmocka_unit_test(bad_durations__are_told),
        cmocka_unit_test(counts),
        cmocka_unit_test(sizes__parse_and_format),
        cmocka_unit_test(switches),
        cmocka_unit_test(choices__wrong_one_lists_all_and_suggests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
