/* SPDX-License-Identifier: ISC */
/* The writer and its pipe: what is put comes in order, and the loop turns whatever the reader
 * does. */
#include "base/list.h"
#include "base/now.h"
#include "check.h"
#include "loop/pool.h"
#include "loop/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

struct scene {
    uv_loop_t loop;
    struct writer *writer;
    int reader, fd;
    struct writer_waiter waiter;
    int room_count, closed_count, error;
};

static void on_room(struct writer_waiter *waiter)
{
    LIST_OBJECT(waiter, struct scene, waiter)->room_count++;
}

static int set_up(void **state)
{
    static struct scene scene;
    struct error err;
    int ends[2];
    scene = (struct scene){.waiter.has_room = on_room};
    signal(SIGPIPE, SIG_IGN);
    if (pipe2(ends, O_CLOEXEC) != 0 || !pool_prepare(2, &err))
        return -1;
    scene.reader = ends[0];
    scene.fd = ends[1];
    uv_loop_init(&scene.loop);
    scene.writer = writer_open(&scene.loop, scene.fd);
    *state = &scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    close(scene->fd);
    if (scene->reader >= 0)
        close(scene->reader);
    return uv_loop_close(&scene->loop);
}

static void on_closed(void *owner, int error)
{
    struct scene *scene = owner;
    scene->closed_count++;
    scene->error = error;
}

static void close_writer(struct scene *scene, int64_t stall_ms)
{
    writer_close(scene->writer, stall_ms, on_closed, scene);
    uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(scene->closed_count, 1);
}

static void put_line(struct scene *scene, int number)
{
    char line[16];
    int length = snprintf(line, sizeof line, "%d\n", number);
    writer_put(scene->writer, line, (size_t)length);
}

static void writer__puts__come_out_in_order(void **state)
{
    struct scene *scene = *state;
    char bytes[65536];
    for (int i = 0; i < 5000; i++)
        put_line(scene, i);
    close_writer(scene, 1000);
    assert_int_equal(scene->error, 0);
    ssize_t got = read(scene->reader, bytes, sizeof bytes - 1);
    assert_true(got > 0);
    bytes[got] = '\0';
    const char *at = bytes;
    for (int i = 0; i < 5000; i++) {
        char *end;
        assert_int_equal(strtol(at, &end, 10), i);
        at = end + 1;
    }
    assert_int_equal(*at, '\0');
}

/* Puts lines until the pipe and what may wait are full. */
static int fill(struct scene *scene)
{
    char line[1024];
    int count = 0;
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    for (; !writer_is_full(scene->writer); count++) {
        writer_put(scene->writer, line, sizeof line);
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    }
    return count;
}

/* The next batch begins in a turn of the loop: an empty pipe is no reason to stop turning. */
static size_t read_some(struct scene *scene)
{
    static char bytes[65536];
    struct pollfd reader = {.fd = scene->reader, .events = POLLIN};
    while (poll(&reader, 1, 1) == 0)
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    ssize_t got = read(scene->reader, bytes, sizeof bytes);
    assert_true(got > 0);
    return (size_t)got;
}

static void writer__reader_stands_still__loop_turns_and_room_is_told_once_it_reads(void **state)
{
    struct scene *scene = *state;
    int count = fill(scene);
    size_t all = (size_t)count * 1024, done = 0;
    assert_true(all > WRITER_MOST && all < WRITER_MOST + 200000);
    assert_false(writer_has_room(scene->writer));
    writer_await_room(scene->writer, &scene->waiter);
    for (int i = 0; i < 20; i++)
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    assert_int_equal(scene->room_count, 0);
    while (done < all) {
        done += read_some(scene);
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    }
    close_writer(scene, 1000);
    assert_int_equal(done, all);
    assert_int_equal(scene->room_count, 1);
    assert_int_equal(scene->error, 0);
}

static void writer__closed_before_a_reader_that_stands_still__gives_up_in_time(void **state)
{
    struct scene *scene = *state;
    fill(scene);
    int64_t before = now_boot_ms();
    writer_close(scene->writer, 100, on_closed, scene);
    while (scene->closed_count == 0)
        uv_run(&scene->loop, UV_RUN_ONCE);
    assert_int_equal(scene->error, ETIMEDOUT);
    assert_true(now_boot_ms() - before < 5000);
    close(scene->reader); /* lets the thread go */
    scene->reader = -1;
    uv_run(&scene->loop, UV_RUN_DEFAULT);
}

static void writer__closed_before_a_slow_reader__gives_up_nothing(void **state)
{
    struct scene *scene = *state;
    size_t all = (size_t)fill(scene) * 1024, done = 0;
    writer_close(scene->writer, 200, on_closed, scene);
    while (scene->closed_count == 0) {
        usleep(10000);
        done += read_some(scene);
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    }
    while (done < all)
        done += read_some(scene);
    assert_int_equal(scene->error, 0);
    assert_int_equal(done, all);
}

static void writer__reader_gone__lines_are_counted_and_nothing_waits(void **state)
{
    struct scene *scene = *state;
    close(scene->reader);
    scene->reader = -1;
    put_line(scene, 1);
    put_line(scene, 2);
    uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(writer_error(scene->writer), EPIPE);
    put_line(scene, 3);
    assert_int_equal(writer_take_lost(scene->writer), 3);
    assert_int_equal(writer_take_lost(scene->writer), 0);
    assert_true(writer_has_room(scene->writer));
    close_writer(scene, 1000);
    assert_int_equal(scene->error, EPIPE);
}

static void writer__to_a_full_disk__tries_each_line(void **state)
{
    struct scene *scene = *state;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    dup2(full, scene->fd);
    close(full);
    for (int i = 0; i < 3; i++)
        put_line(scene, i);
    uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(writer_error(scene->writer), ENOSPC);
    assert_int_equal(writer_take_lost(scene->writer), 3);
    close_writer(scene, 1000);
}

static void writer__descriptor_made_nonblocking_by_another__loses_nothing(void **state)
{
    struct scene *scene = *state;
    fcntl(scene->fd, F_SETFL, O_NONBLOCK);
    size_t all = (size_t)fill(scene) * 1024, done = 0;
    while (done < all) {
        done += read_some(scene);
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    }
    close_writer(scene, 1000);
    assert_int_equal(done, all);
    assert_int_equal(scene->error, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(writer__puts__come_out_in_order),
        CASE(writer__reader_stands_still__loop_turns_and_room_is_told_once_it_reads),
        CASE(writer__closed_before_a_reader_that_stands_still__gives_up_in_time),
        CASE(writer__closed_before_a_slow_reader__gives_up_nothing),
        CASE(writer__reader_gone__lines_are_counted_and_nothing_waits),
        CASE(writer__to_a_full_disk__tries_each_line),
        CASE(writer__descriptor_made_nonblocking_by_another__loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
