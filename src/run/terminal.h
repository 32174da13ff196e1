/* SPDX-License-Identifier: ISC */
/* Job control. The command has its own process group; on a terminal that group gets the
 * foreground, so that Ctrl-C and Ctrl-Z reach it and it can read, as without leaserun. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct terminal {
    int fd;        /* the controlling terminal, -1 for none */
    bool is_given; /* the command's group has the foreground */
};

void terminal_open(struct terminal *terminal);
void terminal_close(struct terminal *terminal);

/* True when our group has the foreground now. */
bool terminal_is_ours(const struct terminal *terminal);

/* Whether to hand the terminal over from the start: we have the foreground, and the command talks
 * to a person at both ends. In a pipeline the rest of it needs the foreground (a pager), and the
 * command gets it when it asks (SIGTTIN). */
bool terminal_should_give(const struct terminal *terminal);

/* Our group gets the foreground back, if the command's has it. */
void terminal_take_back(struct terminal *terminal, pid_t command_group);

/* Stops this process and its group as Ctrl-Z would have; returns when it is continued, or at once
 * where nobody could continue it (an orphaned group). */
void terminal_stop_self(void);
