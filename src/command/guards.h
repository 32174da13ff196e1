/* SPDX-License-Identifier: ISC */
/* The guards of this process, and who else is a child of it. leaserun adopts what a killed guard
 * leaves, so it must tell those from its guards, and from children it already had when it was
 * started (a shell's `exec leaserun` hands on the shell's). The list is the process's, as children
 * and SIGCHLD are: hence no object. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

/* Before the first guard is started: makes this process a subreaper and notes what children there
 * are. Later calls do nothing. */
void guards_begin(void);

/* A guard was started; from here on its status is its owner's to reap. */
void guards_add(pid_t guard);

/* Its owner has reaped it, or has no more interest: then guards_reap_strangers does. */
void guards_remove(pid_t guard, bool is_reaped);

/* Reaps every child that has ended but for the guards that have an owner. */
void guards_reap_strangers(void);

/* Kills all children, with what is below them, but for guards and those that were there before,
 * and reaps what has ended. True when none of them is left; until then call it again. */
bool guards_sweep(void);
