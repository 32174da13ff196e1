/* SPDX-License-Identifier: ISC */
#include "base/now.h"
#include "check.h"
#include "loop/alarm.h"

#include <stdbool.h>

struct fixture {
    uv_loop_t loop;
    struct alarm alarm;
    struct handles handles;
    int ring_count;
    int64_t again_in_ms; /* set anew from within the ring, once */
};

static void on_ring(struct alarm *alarm)
{
    struct fixture *fixture = alarm->timer.loop->data;
    fixture->ring_count++;
    int64_t again_in_ms = fixture->again_in_ms;
    fixture->again_in_ms = 0;
    if (again_in_ms > 0)
        alarm_set_in(alarm, again_in_ms);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    now_freeze(1000000, 0);
    fixture = (struct fixture){.ring_count = 0};
    uv_loop_init(&fixture.loop);
    fixture.loop.data = &fixture;
    alarm_init(&fixture.alarm, &fixture.loop, on_ring);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    alarm_close(&fixture->alarm, &fixture->handles);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    return uv_loop_close(&fixture->loop);
}

static void alarm__timer_fires_before_the_instant__does_not_ring(void **state)
{
    struct fixture *fixture = *state;
    alarm_set_in(&fixture->alarm, 2);
    for (int turn = 0; turn < 5; turn++)
        uv_run(&fixture->loop, UV_RUN_ONCE); /* the timer counts on; the clock stands still */
    assert_int_equal(fixture->ring_count, 0);
    assert_true(fixture->alarm.is_set);
    now_advance_ms(2);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(fixture->ring_count, 1);
    assert_false(fixture->alarm.is_set);
}

static void alarm__instant_in_the_past__rings_in_the_next_turn(void **state)
{
    struct fixture *fixture = *state;
    alarm_set_at(&fixture->alarm, now_boot_ms() - 5000);
    assert_int_equal(fixture->ring_count, 0); /* never from within set */
    uv_run(&fixture->loop, UV_RUN_NOWAIT);
    assert_int_equal(fixture->ring_count, 1);
}

static void alarm__far_ahead__looks_at_the_clock_every_slice(void **state)
{
    struct fixture *fixture = *state;
    alarm_set_in(&fixture->alarm, 3600000);
    assert_in_range(uv_timer_get_due_in(&fixture->alarm.timer), 1, ALARM_SLICE_MS);
    alarm_set_at(&fixture->alarm, INT64_MAX);
    assert_in_range(uv_timer_get_due_in(&fixture->alarm.timer), 1, ALARM_SLICE_MS);
}

static void alarm__moved__rings_once_at_the_new_instant(void **state)
{
    struct fixture *fixture = *state;
    alarm_set_in(&fixture->alarm, 3600000);
    alarm_set_in(&fixture->alarm, 0);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(fixture->ring_count, 1);
}

static void alarm__stopped__does_not_ring(void **state)
{
    struct fixture *fixture = *state;
    alarm_set_in(&fixture->alarm, 0);
    alarm_stop(&fixture->alarm);
    assert_false(fixture->alarm.is_set);
    assert_int_equal(uv_run(&fixture->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(fixture->ring_count, 0);
    alarm_stop(&fixture->alarm);
}

static void alarm__set_again_from_its_own_ring__rings_again(void **state)
{
    struct fixture *fixture = *state;
    fixture->again_in_ms = 1;
    alarm_set_in(&fixture->alarm, 0);
    uv_run(&fixture->loop, UV_RUN_NOWAIT);
    assert_int_equal(fixture->ring_count, 1);
    assert_true(fixture->alarm.is_set);
    now_advance_ms(1);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(fixture->ring_count, 2);
}

static void alarm__closed_while_set__never_rings(void **state)
{
    struct fixture *fixture = *state;
    alarm_set_in(&fixture->alarm, 0);
    alarm_close(&fixture->alarm, &fixture->handles);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(fixture->ring_count, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(alarm__timer_fires_before_the_instant__does_not_ring),
        CASE(alarm__instant_in_the_past__rings_in_the_next_turn),
        CASE(alarm__far_ahead__looks_at_the_clock_every_slice),
        CASE(alarm__moved__rings_once_at_the_new_instant),
        CASE(alarm__stopped__does_not_ring),
        CASE(alarm__set_again_from_its_own_ring__rings_again),
        CASE(alarm__closed_while_set__never_rings),
    };
    return cmocka_run_group_tests_name("alarm", tests, NULL, NULL);
}
