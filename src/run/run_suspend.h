/* SPDX-License-Identifier: ISC */
/* Ctrl-Z, fg and bg: the terminal stops the command's group, leaserun takes the terminal back,
 * says how long the lease lasts, and stops itself; continued, it looks at the deadline before the
 * command goes on. */
#pragma once
#include "run/run.h"

/* The command was stopped by a signal (command_listener.stopped). */
void run_suspend_on_stopped(void *owner, int number);

/* SIGCONT came to leaserun. */
void run_suspend_on_continued(struct run *run);

/* SIGTSTP came to leaserun: the foreground is its group's. */
void run_suspend_on_asked(struct run *run);

/* A renewal was answered: the stop that waited for it may go ahead. */
void run_suspend_when_quiet(struct run *run);
