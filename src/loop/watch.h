/* SPDX-License-Identifier: ISC */
/* A call whenever a descriptor can be read (a socket to a guard, a pidfd). */
#pragma once
#include "loop/handles.h"

#include <uv.h>

struct watch;
typedef void (*watch_cb)(struct watch *watch);

struct watch {
    uv_poll_t poll;
    int fd;
    watch_cb readable;
};

/* Takes the descriptor over: watch_close closes it. Returns a negative libuv error, and leaves
 * the descriptor to the caller, when it cannot be watched. */
int watch_open(struct watch *watch, uv_loop_t *loop, int fd, watch_cb readable);
/* No call until it is resumed. Both do nothing on a closed one. */
void watch_pause(struct watch *watch);
void watch_resume(struct watch *watch);
void watch_close(struct watch *watch, struct handles *handles); /* twice is once */
