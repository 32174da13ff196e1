/* SPDX-License-Identifier: ISC */
#include "fake_clock.h"

#include "base/now.h"
#include "base/random.h"
#include "check.h"
#include "loop/alarm.h"

#include <string.h>

#define TURNS_MOST 200000

static void note_earlier(uv_handle_t *handle, void *pointer_to_earliest)
{
    struct alarm **earliest = pointer_to_earliest;
    if (handle->type != UV_TIMER || !uv_is_active(handle) || uv_is_closing(handle))
        return;
    struct alarm *alarm = handle->data;
    if (*earliest == NULL || alarm->due_boot_ms < (*earliest)->due_boot_ms)
        *earliest = alarm;
}

static struct alarm *find_next(uv_loop_t *loop)
{
    struct alarm *earliest = NULL;
    uv_walk(loop, note_earlier, &earliest);
    return earliest;
}

bool fake_clock_turn(uv_loop_t *loop)
{
    struct alarm *alarm = find_next(loop);
    if (alarm == NULL) {
        uv_run(loop, UV_RUN_NOWAIT);
        return false;
    }
    if (alarm->due_boot_ms > now_boot_ms())
        now_advance_ms(alarm->due_boot_ms - now_boot_ms());
    alarm_set_at(alarm, alarm->due_boot_ms); /* its timer is armed anew, with nothing left */
    uv_run(loop, UV_RUN_NOWAIT);
    return true;
}

void fake_clock_run_for(uv_loop_t *loop, int64_t ms)
{
    int64_t until = now_boot_ms() + ms;
    for (int turn = 0; turn < TURNS_MOST; turn++) {
        struct alarm *next = find_next(loop);
        if (next == NULL || next->due_boot_ms > until) {
            uv_run(loop, UV_RUN_NOWAIT); /* closing handles */
            if (until > now_boot_ms())
                now_advance_ms(until - now_boot_ms());
            return;
        }
        fake_clock_turn(loop);
    }
    fail_msg("the loop does not come to rest");
}

void fake_clock_run(uv_loop_t *loop)
{
    for (int turn = 0; turn < TURNS_MOST; turn++)
        if (!fake_clock_turn(loop))
            return;
    fail_msg("the loop does not come to rest");
}

void fake_clock_stop_for(int64_t ms)
{
    now_advance_ms(ms);
}

/* ---- base/random.h, without chance -------------------------------------------------------- */

static bool is_least_asked;

void fake_random_least(bool is_least)
{
    is_least_asked = is_least;
}

int64_t random_below(int64_t limit)
{
    return is_least_asked && limit > 1 ? limit - 1 : 0;
}

void random_nonce(char ret_nonce[RANDOM_NONCE_CHARS + 1])
{
    memset(ret_nonce, 'a', RANDOM_NONCE_CHARS);
    ret_nonce[RANDOM_NONCE_CHARS] = '\0';
}
