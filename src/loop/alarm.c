/* SPDX-License-Identifier: ISC */
#include "loop/alarm.h"

#include "base/now.h"

static void on_timer(uv_timer_t *timer);

static void arm(struct alarm *alarm)
{
    int64_t left = alarm->due_boot_ms - now_boot_ms();
    if (left < 0)
        left = 0;
    if (left > ALARM_SLICE_MS)
        left = ALARM_SLICE_MS;
    uv_update_time(alarm->timer.loop);
    uv_timer_start(&alarm->timer, on_timer, (uint64_t)left, 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct alarm *alarm = timer->data;
    if (now_boot_ms() < alarm->due_boot_ms) {
        arm(alarm);
        return;
    }
    alarm->is_set = false;
    alarm->ring(alarm);
}

void alarm_init(struct alarm *alarm, uv_loop_t *loop, alarm_cb ring)
{
    *alarm = (struct alarm){.ring = ring};
    uv_timer_init(loop, &alarm->timer);
    alarm->timer.data = alarm;
}

void alarm_set_at(struct alarm *alarm, int64_t boot_ms)
{
    alarm->due_boot_ms = boot_ms;
    alarm->is_set = true;
    arm(alarm);
}

void alarm_set_in(struct alarm *alarm, int64_t ms)
{
    alarm_set_at(alarm, now_boot_ms() + ms);
}

void alarm_stop(struct alarm *alarm)
{
    alarm->is_set = false;
    uv_timer_stop(&alarm->timer);
}

void alarm_close(struct alarm *alarm, struct handles *handles)
{
    handles_close(handles, (uv_handle_t *)&alarm->timer);
}
