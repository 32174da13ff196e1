/* SPDX-License-Identifier: ISC */
/* Signals to leaserun, read from a descriptor by the loop. They are blocked from the first line
 * of main on, so that none is lost before somebody listens; a blocked signal waits even for
 * process 1, to whom an unhandled one would never come. */
#pragma once
#include "loop/handles.h"

#include <signal.h>
#include <stdbool.h>
#include <uv.h>

/* How the process was started. */
struct signals_given {
    bool hup_ignored, int_ignored, quit_ignored; /* nohup(1), and a shell's background jobs */
};

struct signals;
typedef void (*signal_cb)(struct signals *signals, int number);

struct signals {
    uv_poll_t poll;
    int fd;
    signal_cb arrived;
    void *owner;
};

/* First thing in main: records what was given, makes SIGCHLD default (an inherited SIG_IGN would
 * lose exit statuses), ignores SIGPIPE, SIGXFSZ, SIGTTOU and SIGTTIN, and blocks what signals_open
 * will read: HUP INT QUIT (less those that were ignored) TERM USR1 USR2 CHLD CONT TSTP. */
void signals_take_stock(struct signals_given *ret_given);

/* Starts calling arrived(). Returns a negative libuv error when it cannot. */
int signals_open(struct signals *signals, uv_loop_t *loop, signal_cb arrived, void *owner);
void signals_close(struct signals *signals, struct handles *handles);

/* The next stop signal (HUP INT QUIT TERM) that waits unread, 0 when there is none. Consumes it.
 * For the moments before signals_open. */
int signals_pending_stop(void);
