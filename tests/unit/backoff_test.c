/* SPDX-License-Identifier: ISC */
#include "base/backoff.h"
#include "check.h"

static void backoff__each_delay__lies_between_half_and_the_whole_of_its_step(void **state)
{
    static const int64_t steps[] = {10, 20, 40, 80, 100, 100, 100};
    for (int round = 0; round < 200; round++) {
        struct backoff backoff = {.first_ms = 10, .most_ms = 100};
        for (size_t i = 0; i < CASE_COUNT(steps); i++)
            assert_in_range(backoff_next_ms(&backoff), steps[i] / 2, steps[i]);
    }
}

static void backoff__contenders__do_not_keep_step(void **state)
{
    int differing = 0;
    for (int round = 0; round < 100; round++) {
        struct backoff one = {.first_ms = 1000, .most_ms = 1000};
        struct backoff two = one;
        differing += backoff_next_ms(&one) != backoff_next_ms(&two);
    }
    assert_true(differing > 50);
}

static void backoff__reset__begins_again(void **state)
{
    struct backoff backoff = {.first_ms = 8, .most_ms = 1000};
    for (int i = 0; i < 10; i++)
        backoff_next_ms(&backoff);
    backoff_reset(&backoff);
    assert_in_range(backoff_next_ms(&backoff), 4, 8);
}

static void backoff__one_millisecond__is_never_zero(void **state)
{
    struct backoff backoff = {.first_ms = 1, .most_ms = 100};
    for (int i = 0; i < 100; i++) {
        backoff_reset(&backoff);
        assert_int_equal(backoff_next_ms(&backoff), 1);
    }
}

static void backoff__first_above_most__is_capped(void **state)
{
    struct backoff backoff = {.first_ms = 500, .most_ms = 100};
    assert_in_range(backoff_next_ms(&backoff), 50, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backoff__each_delay__lies_between_half_and_the_whole_of_its_step),
        cmocka_unit_test(backoff__contenders__do_not_keep_step),
        cmocka_unit_test(backoff__reset__begins_again),
        cmocka_unit_test(backoff__one_millisecond__is_never_zero),
        cmocka_unit_test(backoff__first_above_most__is_capped),
    };
    return cmocka_run_group_tests_name("backoff", tests, NULL, NULL);
}
