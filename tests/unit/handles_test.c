/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "loop/handles.h"

struct object {
    uv_timer_t one, two;
    uv_timer_t never; /* zeroed, not initialised */
    struct handles handles;
    int closed_count;
};

static void on_closed(struct handles *handles)
{
    struct object *object =
        (struct object *)(void *)((char *)handles - offsetof(struct object, handles));
    object->closed_count++;
}

static void handles__several__tell_once_when_the_last_has_closed(void **state)
{
    struct object object = {.handles = {.closed = on_closed}};
    uv_loop_t loop;
    uv_loop_init(&loop);
    uv_timer_init(&loop, &object.one);
    uv_timer_init(&loop, &object.two);
    handles_close(&object.handles, (uv_handle_t *)&object.one);
    handles_close(&object.handles, (uv_handle_t *)&object.two);
    assert_int_equal(object.closed_count, 0); /* from the loop only */
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(object.closed_count, 1);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void handles__closing_already_or_never_begun__are_left_alone(void **state)
{
    struct object object = {.handles = {.closed = on_closed}};
    uv_loop_t loop;
    uv_loop_init(&loop);
    uv_timer_init(&loop, &object.one);
    handles_close(&object.handles, (uv_handle_t *)&object.one);
    handles_close(&object.handles, (uv_handle_t *)&object.one);
    handles_close(&object.handles, (uv_handle_t *)&object.never);
    assert_int_equal(object.handles.closing_count, 1);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(object.closed_count, 1);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void handles__nobody_to_tell__close_all_the_same(void **state)
{
    struct object object = {.closed_count = 0};
    uv_loop_t loop;
    uv_loop_init(&loop);
    uv_timer_init(&loop, &object.one);
    handles_close(&object.handles, (uv_handle_t *)&object.one);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles__several__tell_once_when_the_last_has_closed),
        cmocka_unit_test(handles__closing_already_or_never_begun__are_left_alone),
        cmocka_unit_test(handles__nobody_to_tell__close_all_the_same),
    };
    return cmocka_run_group_tests_name("handles", tests, NULL, NULL);
}
