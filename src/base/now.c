/* SPDX-License-Identifier: ISC */
#include "base/now.h"

#include <stdbool.h>
#include <time.h>

static struct {
    bool is_frozen;
    int64_t boot_ms;
    int64_t wall_us;
} frozen;

int64_t now_boot_ms(void)
{
    if (frozen.is_frozen)
        return frozen.boot_ms;
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

int64_t now_wall_us(void)
{
    if (frozen.is_frozen)
        return frozen.wall_us;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

void now_freeze(int64_t boot_ms, int64_t wall_us)
{
    frozen.is_frozen = true;
    frozen.boot_ms = boot_ms;
    frozen.wall_us = wall_us;
}

void now_advance_ms(int64_t ms)
{
    frozen.boot_ms += ms;
    frozen.wall_us += ms * 1000;
}
