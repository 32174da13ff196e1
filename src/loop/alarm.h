/* SPDX-License-Identifier: ISC */
/* A call at an instant of CLOCK_BOOTTIME. libuv's timers count on a clock that stands still while
 * the machine sleeps and from the loop's cached time; an alarm never rings early, and after a
 * sleep of the machine it is late by at most ALARM_SLICE_MS. */
#pragma once
#include "loop/handles.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define ALARM_SLICE_MS 5000

struct alarm;
typedef void (*alarm_cb)(struct alarm *alarm);

struct alarm {
    uv_timer_t timer;
    int64_t due_boot_ms;
    alarm_cb ring;
    bool is_set;
};

void alarm_init(struct alarm *alarm, uv_loop_t *loop, alarm_cb ring);
void alarm_set_at(struct alarm *alarm, int64_t boot_ms); /* moves it when it is set already */
void alarm_set_in(struct alarm *alarm, int64_t ms);
void alarm_stop(struct alarm *alarm);
void alarm_close(struct alarm *alarm, struct handles *handles);
