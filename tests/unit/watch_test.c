/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "loop/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct fixture {
    uv_loop_t loop;
    struct watch watch;
    struct handles handles;
    int fds[2];
    int readable_count;
};

static void on_readable(struct watch *watch)
{
    struct fixture *fixture = watch->poll.loop->data;
    char byte;
    fixture->readable_count++;
    if (read(watch->fd, &byte, 1) <= 0) /* end of file: enough seen */
        watch_close(watch, &fixture->handles);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.readable_count = 0};
    uv_loop_init(&fixture.loop);
    fixture.loop.data = &fixture;
    if (pipe(fixture.fds) != 0)
        return -1;
    *state = &fixture;
    return watch_open(&fixture.watch, &fixture.loop, fixture.fds[0], on_readable);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    watch_close(&fixture->watch, &fixture->handles);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    return uv_loop_close(&fixture->loop);
}

static void watch__bytes_then_end__calls_for_each_and_closes(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(write(fixture->fds[1], "ab", 2), 2);
    close(fixture->fds[1]);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(fixture->readable_count, 3);
    assert_int_equal(fcntl(fixture->fds[0], F_GETFD), -1);
    assert_int_equal(errno, EBADF);
}

static void watch__closed_twice__closes_once(void **state)
{
    struct fixture *fixture = *state;
    watch_close(&fixture->watch, &fixture->handles);
    int reused = dup(fixture->fds[1]); /* takes the number that was closed */
    watch_close(&fixture->watch, &fixture->handles);
    assert_int_equal(reused, fixture->fds[0]);
    assert_true(fcntl(reused, F_GETFD) >= 0);
    close(reused);
    close(fixture->fds[1]);
}

static void watch__what_cannot_be_watched__stays_the_callers(void **state)
{
    struct fixture *fixture = *state;
    struct watch other;
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    assert_true(watch_open(&other, &fixture->loop, file, on_readable) < 0);
    assert_true(fcntl(file, F_GETFD) >= 0);
    watch_close(&other, &fixture->handles); /* nothing to close */
    assert_true(fcntl(file, F_GETFD) >= 0);
    close(file);
    close(fixture->fds[1]);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(watch__bytes_then_end__calls_for_each_and_closes),
        CASE(watch__closed_twice__closes_once),
        CASE(watch__what_cannot_be_watched__stays_the_callers),
    };
    return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
