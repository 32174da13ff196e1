/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "cron/cron_hints.h"

#include <string.h>

#define JANUARY_2027_US INT64_C(1798761600000000)

static const struct {
    const char *schedule, *zone;
    enum cron_hint_kind kind;
    const char *said;
} hints[] = {
    {"0 0 30 2 *", "UTC", CRON_HINT_NEVER, "never due"},
    {"0 0 31 4,6 *", "UTC", CRON_HINT_NEVER, "never due"},
    {"0 0 13 * 5", "UTC", CRON_HINT_EITHER_DAY, "match either"},
    {"0 0 1-31 * 1", "UTC", CRON_HINT_EITHER_DAY, "which is every day"},
    {"0 0 */2 * 1", "UTC", CRON_HINT_BOTH_DAYS, "day of month begins with a star"},
    {"0 0 13 * */2", "UTC", CRON_HINT_BOTH_DAYS, "weekday begins with a star"},
    {"0 0 31 * *", "UTC", CRON_HINT_SHORT_MONTHS, "feb apr jun sep nov"},
    {"0 0 29 2 *", "UTC", CRON_HINT_SHORT_MONTHS, "leap years"},
    {"*/90 * * * *", "UTC", CRON_HINT_STEP_BEYOND, "first value alone"},
    {"*/17 * * * *", "UTC", CRON_HINT_STEP_UNEVEN, "51 is followed by 0 after 9, not 17"},
    {"0 */5 * * *", "UTC", CRON_HINT_STEP_UNEVEN, "20 is followed by 0 after 4, not 5"},
    {"0 4 */30 * *", "UTC", CRON_HINT_STEP_UNEVEN, "day 31 is followed by day 1"},
    {"*/30 2 * * *", "Europe/Paris", CRON_HINT_SKIPPED,
     "on 2027-03-28 the clock of Europe/Paris goes from 02:00 to 03:00: "
     "times in between are left out"},
    {"*/30 2 * * *", "Europe/Paris", CRON_HINT_DOUBLED, "on 2027-10-31"},
    {"30 2 * * *", "Europe/Paris", CRON_HINT_MOVED, "due once, at the change"},
};

static void traps__are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(hints); i++) {
        struct cron cron;
        struct error error;
        struct cron_hint found[CRON_HINT_KIND_COUNT];
        bool is_told = false;
        const struct zone *zone = zone_find(hints[i].zone, &error);
        assert_true(cron_parse(hints[i].schedule, "", &cron, &error));
        size_t count = cron_hints_find(&cron, zone, JANUARY_2027_US, found);
        for (size_t k = 0; k < count; k++)
            is_told |= found[k].kind == hints[i].kind && strstr(found[k].text, hints[i].said);
        if (!is_told)
            fail_msg("%s: nothing says \"%s\"", hints[i].schedule, hints[i].said);
    }
}

static const char *const plain[] = {
    "0 2 * * *", "*/5 * * * *",  "0 */6 * * *", "0 0 1 * *",  "0 0 * * 1-5", "@daily",
    "@hourly",   "0 0 L * *",    "every 90s",   "@once",      "@reboot",     "0 0 ? * *",
    "0 0 * * ?", "0,30 * * * *", "0 0 * * 1#5", "30 2 * * *", "17 * * * *"};

static void plain_schedules__are_left_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(plain); i++) {
        struct cron cron;
        struct error error;
        struct cron_hint found[CRON_HINT_KIND_COUNT];
        assert_true(cron_parse(plain[i], "", &cron, &error));
        if (cron_hints_find(&cron, zone_utc(), JANUARY_2027_US, found) != 0)
            fail_msg("%s: %s", plain[i], found[0].text);
    }
}

static void an_hourly_schedule__needs_no_word_of_the_clock(void **state)
{
    (void)state;
    struct cron cron;
    struct error error;
    struct cron_hint found[CRON_HINT_KIND_COUNT];
    assert_true(cron_parse("*/5 * * * *", "", &cron, &error));
    assert_int_equal(
        cron_hints_find(&cron, zone_find("Europe/Paris", &error), JANUARY_2027_US, found), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traps__are_told),
        cmocka_unit_test(plain_schedules__are_left_alone),
        cmocka_unit_test(an_hourly_schedule__needs_no_word_of_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
