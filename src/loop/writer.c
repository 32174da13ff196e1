/* SPDX-License-Identifier: ISC */
#include "loop/writer.h"

#include "base/mem.h"
#include "base/text.h"
#include "loop/alarm.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct writer {
    uv_loop_t *loop;
    int fd;
    struct text waiting;
    struct list waiters;
    int error; /* the first */
    bool is_gone;
    int64_t lost_count; /* lines, until asked */

    /* The batch, the thread's while it is busy. */
    uv_work_t work;
    struct text batch;
    bool is_busy;
    bool is_cut; /* the last line that was written has no end */
    int batch_error;
    int64_t batch_lost_count;
    atomic_size_t taken; /* bytes of all batches */

    /* Once closing. */
    bool is_closing, is_told, is_left;
    int64_t stall_ms;
    size_t taken_before;
    struct alarm stall;
    struct handles handles;
    void (*closed)(void *owner, int error);
    void *owner;
};

/* ---- in the pool ----------------------------------------------------------------------------- */

/* As many whole lines as a pipe takes in one piece, one at least. */
static size_t next_length(const char *bytes, size_t count)
{
    if (count <= PIPE_BUF)
        return count;
    const char *last = memrchr(bytes, '\n', PIPE_BUF);
    if (last == NULL)
        last = memchr(bytes + PIPE_BUF, '\n', count - PIPE_BUF);
    return last == NULL ? count : (size_t)(last - bytes) + 1;
}

/* Somebody who shares the descriptor may have made it non-blocking. */
static bool wait_for_room(int fd)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    return poll(&room, 1, -1) >= 0 || errno == EINTR;
}

/* False, with the thread's fault noted, when the rest cannot be written. */
static bool write_piece(struct writer *writer, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(writer->fd, bytes, count);
        if (written > 0) {
            writer->is_cut = bytes[written - 1] != '\n';
            atomic_fetch_add(&writer->taken, (size_t)written);
            bytes += written;
            count -= (size_t)written;
        } else if (written < 0 && errno == EAGAIN) {
            if (!wait_for_room(writer->fd))
                break;
        } else if (written == 0 || errno != EINTR) {
            break;
        }
    }
    if (count > 0)
        writer->batch_error = errno;
    return count == 0;
}

static int64_t count_lines(const char *bytes, size_t count)
{
    int64_t lines = 0;
    for (const char *end = bytes + count; (bytes = memchr(bytes, '\n', (size_t)(end - bytes)));)
        bytes++, lines++;
    return lines;
}

/* A piece that fails does not keep the next from being tried: a disk that is full for a long line
 * may have room for a short one. Without a reader nothing is tried any more. */
static void write_batch(uv_work_t *work)
{
    struct writer *writer = LIST_OBJECT(work, struct writer, work);
    const char *bytes = writer->batch.bytes;
    size_t left = writer->batch.length;
    while (left > 0 && writer->batch_error != EPIPE) {
        size_t count = next_length(bytes, left);
        if ((writer->is_cut && !write_piece(writer, "\n", 1)) || !write_piece(writer, bytes, count))
            writer->batch_lost_count += count_lines(bytes, count);
        bytes += count;
        left -= count;
    }
    writer->batch_lost_count += count_lines(bytes, left);
}

/* ---- in the loop ----------------------------------------------------------------------------- */

static void begin_batch(struct writer *writer);

static void note_lost(struct writer *writer, int error, int64_t line_count)
{
    if (writer->error == 0)
        writer->error = error;
    writer->lost_count += line_count;
    writer->is_gone |= error == EPIPE;
}

static void tell_room(struct writer *writer)
{
    while (writer_has_room(writer) && !list_is_empty(&writer->waiters)) {
        struct writer_waiter *waiter =
            LIST_OBJECT(writer->waiters.next, struct writer_waiter, node);
        list_remove(&waiter->node);
        waiter->has_room(waiter);
    }
}

static void give_back(struct writer *writer)
{
    text_done(&writer->waiting);
    text_done(&writer->batch);
    free(writer);
}

static void on_closed(struct handles *handles)
{
    struct writer *writer = LIST_OBJECT(handles, struct writer, handles);
    void (*closed)(void *owner, int error) = writer->closed;
    void *owner = writer->owner;
    int error = writer->error;
    if (writer->is_busy) /* given up: the thread still has it */
        writer->is_left = true;
    else
        give_back(writer);
    closed(owner, error);
}

static void finish_close(struct writer *writer)
{
    if (writer->is_told)
        return;
    writer->is_told = true;
    alarm_close(&writer->stall, &writer->handles);
}

static void on_written(uv_work_t *work, int status)
{
    struct writer *writer = LIST_OBJECT(work, struct writer, work);
    writer->is_busy = false;
    if (writer->is_left) {
        give_back(writer);
        return;
    }
    if (writer->batch_error != 0)
        note_lost(writer, writer->batch_error, writer->batch_lost_count);
    text_clear(&writer->batch);
    begin_batch(writer);
    tell_room(writer);
    if (writer->is_closing && !writer->is_busy)
        finish_close(writer);
}

static void begin_batch(struct writer *writer)
{
    if (writer->is_busy || writer->waiting.length == 0)
        return;
    struct text empty = writer->batch;
    writer->batch = writer->waiting;
    writer->waiting = empty;
    writer->batch_error = 0;
    writer->batch_lost_count = 0;
    writer->is_busy = true;
    if (uv_queue_work(writer->loop, &writer->work, write_batch, on_written) != 0)
        abort(); /* it fails only without a function */
}

struct writer *writer_open(uv_loop_t *loop, int fd)
{
    struct writer *writer = mem_alloc(sizeof *writer);
    writer->loop = loop;
    writer->fd = fd;
    list_init(&writer->waiters);
    return writer;
}

static size_t waiting_count(const struct writer *writer)
{
    return writer->waiting.length + (writer->is_busy ? writer->batch.length : 0);
}

void writer_put(struct writer *writer, const char *bytes, size_t count)
{
    if (writer->is_gone) {
        note_lost(writer, EPIPE, count_lines(bytes, count));
        return;
    }
    text_add_bytes(&writer->waiting, bytes, count);
    begin_batch(writer);
}

bool writer_is_full(const struct writer *writer)
{
    return waiting_count(writer) > WRITER_MOST;
}

bool writer_has_room(const struct writer *writer)
{
    return waiting_count(writer) < WRITER_ROOM;
}

void writer_await_room(struct writer *writer, struct writer_waiter *waiter)
{
    writer_forget(waiter);
    list_push(&writer->waiters, &waiter->node);
}

void writer_forget(struct writer_waiter *waiter)
{
    if (waiter->node.next != NULL)
        list_remove(&waiter->node);
}

int64_t writer_take_lost(struct writer *writer)
{
    int64_t count = writer->lost_count;
    writer->lost_count = 0;
    return count;
}

int writer_error(const struct writer *writer)
{
    return writer->error;
}

/* Looks whether anything was taken since it looked last. */
static void on_stall(struct alarm *alarm)
{
    struct writer *writer = LIST_OBJECT(alarm, struct writer, stall);
    size_t taken = atomic_load(&writer->taken);
    if (taken != writer->taken_before) {
        writer->taken_before = taken;
        alarm_set_in(alarm, writer->stall_ms);
        return;
    }
    note_lost(writer, ETIMEDOUT, 0);
    finish_close(writer);
}

void writer_close(struct writer *writer, int64_t stall_ms, void (*closed)(void *owner, int error),
                  void *owner)
{
    writer->is_closing = true;
    writer->stall_ms = stall_ms;
    writer->closed = closed;
    writer->owner = owner;
    writer->taken_before = atomic_load(&writer->taken);
    writer->handles.closed = on_closed;
    alarm_init(&writer->stall, writer->loop, on_stall);
    alarm_set_in(&writer->stall, stall_ms);
    if (!writer->is_busy)
        finish_close(writer);
}
