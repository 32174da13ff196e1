/* SPDX-License-Identifier: ISC */
/* Bytes to a descriptor that others share and that may not take them now: a pipe whose reader
 * stands still, a file on a dead disk. They wait in memory and are written, in order, by one of
 * libuv's threads; the loop never waits, and the descriptor's flags stay as they are.
 *
 * What is put should be whole lines: as many as fit are written together with one write(2), and
 * none is split by another writer of a pipe unless it is longer than PIPE_BUF. */
#pragma once
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* Of bytes that wait. */
#define WRITER_ROOM 262144   /* from here on, who can put them later should */
#define WRITER_MOST 16777216 /* and who cannot should do without */

struct writer;

/* Called once, from the loop, when there is room again; then it must be asked for anew. */
struct writer_waiter {
    struct list node;
    void (*has_room)(struct writer_waiter *waiter);
};

/* Does not own the descriptor. pool_prepare comes before it, with a thread for this. */
struct writer *writer_open(uv_loop_t *loop, int fd);

/* Takes a copy of all bytes, however many wait: it is the caller's to ask first. */
void writer_put(struct writer *writer, const char *bytes, size_t count);

bool writer_has_room(const struct writer *writer); /* less than WRITER_ROOM wait */
bool writer_is_full(const struct writer *writer);  /* more than WRITER_MOST do */
void writer_await_room(struct writer *writer, struct writer_waiter *waiter);
void writer_forget(struct writer_waiter *waiter); /* a waiter must be zeroed before its first use */

/* How many lines could not be written since this was asked last. */
int64_t writer_take_lost(struct writer *writer);

/* The first errno with which bytes were lost, 0 while none were. EPIPE is for good: from then on
 * everything put is lost at once. */
int writer_error(const struct writer *writer);

/* Writes what waits, and gives up (its bytes are lost) when none of it was taken for so long; then
 * calls closed from the loop with writer_error's answer, ETIMEDOUT when it gave up. */
void writer_close(struct writer *writer, int64_t stall_ms, void (*closed)(void *owner, int error),
                  void *owner);
