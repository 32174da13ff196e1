/* SPDX-License-Identifier: ISC */
/* Told when somebody sets the wall clock (also after a suspend, with a step of about 0). Slow
 * corrections, as a time service makes them, are no steps. */
#pragma once
#include "loop/watch.h"

#include <stdint.h>

struct clock_watch;
typedef void (*clock_watch_cb)(struct clock_watch *watch, int64_t by_us);

struct clock_watch {
    struct watch watch;
    int64_t offset_us; /* of the wall clock to the boot clock, when last looked at */
    clock_watch_cb stepped;
};

/* Returns a negative libuv error when it cannot be watched. */
int clock_watch_open(struct clock_watch *watch, uv_loop_t *loop, clock_watch_cb stepped);
void clock_watch_close(struct clock_watch *watch, struct handles *handles);
