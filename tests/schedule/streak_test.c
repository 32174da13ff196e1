/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "schedule/streak.h"

#include <string.h>

#define EVERY_60S true
#define DAILY     false

enum fate {
    DOWN,
    WON,
    HELD,
    CANCELLED
};

/* The level of each slot that failed, in a row. */
static void assert_levels(bool repeats, enum job_claim_failure claim_failure,
                          const enum fate *fates, size_t count, const char *expected)
{
    struct streak streak = {0};
    char levels[64] = "";
    for (size_t i = 0; i < count; i++) {
        if (fates[i] != DOWN) {
            streak_restart(&streak);
            continue;
        }
        enum level level = streak_fail(&streak, repeats, claim_failure);
        strcat(levels, level == LEVEL_WARN ? "WARN " : level == LEVEL_ERROR ? "ERROR " : "? ");
    }
    assert_string_equal(levels, expected);
}

#define LEVELS(repeats, claim_failure, expected, ...)                                              \
    assert_levels(repeats, claim_failure, (const enum fate[]){__VA_ARGS__},                        \
                  CASE_COUNT(((const enum fate[]){__VA_ARGS__})), expected)

static void job_within_a_minute__two_slots_fail__warnings(void **unused)
{
    LEVELS(EVERY_60S, JOB_CLAIM_FAILURE_AUTO, "WARN WARN ", DOWN, DOWN);
}

static void job_within_a_minute__third_in_a_row__error_and_on(void **unused)
{
    LEVELS(EVERY_60S, JOB_CLAIM_FAILURE_AUTO, "WARN WARN ERROR ERROR ", DOWN, DOWN, DOWN, DOWN);
}

static void job_within_a_minute__a_cancelled_claim_between__the_streak_restarts(void **unused)
{
    LEVELS(EVERY_60S, JOB_CLAIM_FAILURE_AUTO, "WARN WARN WARN ", DOWN, DOWN, CANCELLED, DOWN);
}

static void job_within_a_minute__held_or_won_between__the_streak_restarts(void **unused)
{
    LEVELS(EVERY_60S, JOB_CLAIM_FAILURE_AUTO, "WARN WARN WARN WARN ERROR ", DOWN, DOWN, HELD, DOWN,
           DOWN, DOWN);
    LEVELS(EVERY_60S, JOB_CLAIM_FAILURE_AUTO, "WARN WARN WARN ", DOWN, DOWN, WON, DOWN);
}

static void job_that_loses_its_slot__fails_once__error_at_once(void **unused)
{
    LEVELS(DAILY, JOB_CLAIM_FAILURE_AUTO, "ERROR ERROR ", DOWN, WON, DOWN);
}

static void degrading_turned_off__fails_once__error_at_once(void **unused)
{
    LEVELS(EVERY_60S, JOB_CLAIM_FAILURE_ERROR, "ERROR ERROR ", DOWN, DOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_within_a_minute__two_slots_fail__warnings),
        cmocka_unit_test(job_within_a_minute__third_in_a_row__error_and_on),
        cmocka_unit_test(job_within_a_minute__a_cancelled_claim_between__the_streak_restarts),
        cmocka_unit_test(job_within_a_minute__held_or_won_between__the_streak_restarts),
        cmocka_unit_test(job_that_loses_its_slot__fails_once__error_at_once),
        cmocka_unit_test(degrading_turned_off__fails_once__error_at_once),
    };
    return cmocka_run_group_tests_name("streak", tests, NULL, NULL);
}
