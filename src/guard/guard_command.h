/* SPDX-License-Identifier: ISC */
/* Starting the command: from the guard to the command's first instruction. */
#pragma once
#include "guard/guard_protocol.h"
#include "guard/guard_setup.h"

#include <stdbool.h>
#include <sys/types.h>

/* What a child that could not become the command leaves in its pipe. */
struct guard_command_fault {
    int errno_value;
    enum guard_stage stage;
};

/* Forks a child that becomes the command: a process group of its own (with the terminal if start
 * says so), default signals but for a nohup's, an empty mask, the environment of this process
 * plus what the claim told, what setup says, and every descriptor that is not close-on-exec; with
 * an account, only 0, 1 and 2. It is killed when this process ends. Returns its pid, or -1 with
 * errno.
 *
 * *ret_fault_fd, non-blocking, is for the caller to read and close: it ends empty once the
 * command runs, or gives one struct guard_command_fault. */
pid_t guard_command_fork(char *const *argv, const struct guard_message *start,
                         const struct guard_setup *setup, int *ret_fault_fd);

/* Makes a process group the foreground of the controlling terminal, and returns the one that was;
 * -1 without a terminal. The caller has SIGTTOU blocked or ignored, or is the foreground. */
pid_t guard_command_give_terminal(pid_t group);

/* Default action for every signal: what a new program may expect. */
void guard_command_default_signals(void);
