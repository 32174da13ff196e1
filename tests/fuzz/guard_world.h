/* SPDX-License-Identifier: ISC */
/* A world without processes for the guard's state machine: the calls that would fork, signal or
 * reap are wrapped by the linker (meson.build lists them) and answered from here. What the guard
 * must never do with them is checked where they come in. */
#pragma once
#include "guard/guard_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define WORLD_LEASERUN 4200001 /* numbers past the kernel's largest pid */
#define WORLD_COMMAND  4200002

struct guard_world {
    const struct guard *guard;
    bool is_fork_refused;
    bool is_leaserun_stopped;
    bool is_leaserun_gone;

    bool is_forked, is_reaped;
    int fault_fd; /* of the child, until it is the command or has ended; -1 else */
    int ended_status, stopped_status; /* for waitpid; -1: none */
    size_t orphan_count;              /* others of the tree */
    size_t ended_orphan_count;
    size_t kill_count;
};

extern struct guard_world guard_world;

void guard_world_reset(const struct guard *guard);

/* The child becomes the command, or ends. Nothing when it is not there to do so. */
void guard_world_exec(void);
void guard_world_fail_exec(int errno_value);
void guard_world_end(int status);
void guard_world_stop(int number);
