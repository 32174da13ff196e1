/* SPDX-License-Identifier: ISC */
/* Job control. The command has its own process group; on a terminal that group gets the
 * foreground, so that Ctrl-C and Ctrl-Z reach it and it can read, as without leaserun. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct terminal {
    int fd;          /* the controlling terminal, -1 for none */
    bool is_given;   /* the command's group has the foreground */
    bool has_person; /* at both ends of the command, as it was started */
    bool has_modes;
    struct termios modes; /* as they were when it was given */
};

/* Before the standard descriptors are let go. */
void terminal_open(struct terminal *terminal);
void terminal_close(struct terminal *terminal);

/* True when our group has the foreground now. */
bool terminal_is_ours(const struct terminal *terminal);

/* Whether to hand the terminal over at once: we have the foreground, and the command talks to a
 * person at both ends. In a pipeline the rest of it needs the foreground (a pager), and the
 * command gets it when it asks (SIGTTIN). */
bool terminal_should_give(const struct terminal *terminal);

/* True when the command's group has it. */
bool terminal_is_at(const struct terminal *terminal, pid_t group);

/* True when it has hung up: whoever was in the foreground has had SIGHUP. */
bool terminal_is_gone(const struct terminal *terminal);

/* Notes that the command's group gets the foreground, and the modes that it finds. */
void terminal_give(struct terminal *terminal);

/* Our group gets the foreground back, if the command's has it, or one of the command's that is no
 * more. */
void terminal_take_back(struct terminal *terminal, pid_t command_group);

/* The modes as they were when the command got the terminal: for after one that a signal ended,
 * since a shell does so only for a job that it sees end by a signal itself. */
void terminal_restore_modes(const struct terminal *terminal);

/* Whether somebody could continue this process after a stop: a shell that is in our session and
 * not in our group. The terminal stops no group without one (an orphaned group). */
bool terminal_can_stop_self(void);

/* Stops this process and its group as Ctrl-Z would have; returns when it is continued, or at once
 * where nobody could continue it or a SIGCONT waits already. */
void terminal_stop_self(void);
