/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "command/tail.h"

#include <string.h>

static void check_tail(const struct tail *tail, const char *expected)
{
    size_t length;
    const char *bytes = tail_bytes(tail, &length);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(bytes, expected, length);
}

static void tail__of_little__is_all_of_it(void **state)
{
    struct tail tail = {.most = 8};
    check_tail(&tail, "");
    tail_add(&tail, "abc", 3);
    tail_add(&tail, "defgh", 5);
    check_tail(&tail, "abcdefgh");
    tail_done(&tail);
}

static void tail__of_much__is_the_last_bytes_and_takes_bounded_memory(void **state)
{
    struct tail tail = {.most = 8};
    for (int i = 0; i < 10000; i++) {
        tail_add(&tail, "0123456789", 10);
        check_tail(&tail, "23456789");
        tail_add(&tail, "ab", 2);
        check_tail(&tail, "456789ab");
        assert_true(tail.text.room <= 64);
    }
    tail_done(&tail);
}

static void tail__of_none__keeps_nothing(void **state)
{
    struct tail tail = {.most = 0};
    tail_add(&tail, "abc", 3);
    check_tail(&tail, "");
    tail_done(&tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tail__of_little__is_all_of_it),
        cmocka_unit_test(tail__of_much__is_the_last_bytes_and_takes_bounded_memory),
        cmocka_unit_test(tail__of_none__keeps_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
