/* SPDX-License-Identifier: ISC */
/* The descriptors that leaserun was given: they belong to the command, all of them, and nothing
 * of ours may be among them. Called first thing in main, before any descriptor of ours exists. */
#pragma once
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct fds {
    int *numbers; /* those above 2, ascending */
    size_t count;
};

/* Puts /dev/null where 0, 1 or 2 is closed (a database socket would become the command's stdin
 * otherwise), and lists the others. */
void fds_take_stock(struct fds *ret_given);

/* Closes the given ones above 2 in this process once another holds them, and puts /dev/null on
 * 0 and 1: a reader or writer at the other end sees the command's end, not ours. */
void fds_let_go(struct fds *given);

/* Puts /dev/null on 0, as cron does: what many commands inherit none of them is to wait for. */
void fds_leave_stdin(void);

/* Fails (ERROR_SYSTEM) when there is no room for the descriptors of an event loop and a store. To
 * be asked before a loop is made: libuv aborts when it cannot have its own. */
bool fds_need_room(struct error *err);
