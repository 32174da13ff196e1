/* SPDX-License-Identifier: ISC */
#include "base/now.h"
#include "check.h"

#include <time.h>

static void now__by_the_kernel__lies_between_two_readings(void **state)
{
    struct timespec boot, wall;
    clock_gettime(CLOCK_BOOTTIME, &boot);
    clock_gettime(CLOCK_REALTIME, &wall);
    int64_t boot_ms = now_boot_ms();
    int64_t wall_us = now_wall_us();
    assert_in_range(boot_ms - boot.tv_sec * 1000, 0, 10000);
    assert_true(wall_us >= wall.tv_sec * INT64_C(1000000) + wall.tv_nsec / 1000);
    assert_true(now_boot_ms() >= boot_ms);
}

/* Last: there is no way back from a frozen clock. */
static void now__frozen__stands_still_until_it_is_advanced(void **state)
{
    now_freeze(1000, 5000000);
    assert_int_equal(now_boot_ms(), 1000);
    assert_int_equal(now_wall_us(), 5000000);
    now_advance_ms(250);
    assert_int_equal(now_boot_ms(), 1250);
    assert_int_equal(now_wall_us(), 5250000);
    now_freeze(7, -1);
    assert_int_equal(now_boot_ms(), 7);
    assert_int_equal(now_wall_us(), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(now__by_the_kernel__lies_between_two_readings),
        cmocka_unit_test(now__frozen__stands_still_until_it_is_advanced),
    };
    return cmocka_run_group_tests_name("now", tests, NULL, NULL);
}
