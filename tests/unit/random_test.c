/* SPDX-License-Identifier: ISC */
#include "base/random.h"
#include "check.h"

#include <string.h>

static void nonce__never_repeats_and_has_its_digits_alone(void **state)
{
    enum {
        COUNT = 1000
    };
    static char nonces[COUNT][RANDOM_NONCE_CHARS + 1];
    for (int i = 0; i < COUNT; i++) {
        random_nonce(nonces[i]);
        assert_int_equal(strspn(nonces[i], RANDOM_NONCE_DIGITS), RANDOM_NONCE_CHARS);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(nonces[i], nonces[j]);
    }
}

static void below__stays_below_and_reaches_every_number(void **state)
{
    int seen[6] = {0};
    for (int i = 0; i < 2000; i++) {
        int64_t number = random_below(6);
        assert_in_range(number, 0, 5);
        seen[number]++;
    }
    for (size_t i = 0; i < CASE_COUNT(seen); i++)
        assert_true(seen[i] > 0);
}

static void below__limit_without_choice__is_0(void **state)
{
    assert_int_equal(random_below(1), 0);
    assert_int_equal(random_below(0), 0);
    assert_int_equal(random_below(-7), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonce__never_repeats_and_has_its_digits_alone),
        cmocka_unit_test(below__stays_below_and_reaches_every_number),
        cmocka_unit_test(below__limit_without_choice__is_0),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
