/* SPDX-License-Identifier: ISC */
/* What the guard knows. One object per process, passed to every function of the guard. */
#pragma once
#include "base/fds.h"
#include "guard/guard_arguments.h"
#include "guard/guard_ending.h"
#include "guard/guard_protocol.h"
#include "guard/guard_setup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define GUARD_NEVER INT64_MAX

enum guard_phase {
    GUARD_PHASE_WAITING,  /* for GUARD_START */
    GUARD_PHASE_STARTING, /* forked, not yet the command */
    GUARD_PHASE_RUNNING,
    GUARD_PHASE_CLEARING, /* the command was reaped, others of its tree live */
    GUARD_PHASE_EMPTY,    /* no tree any more */
};

/* What can fall due, in the order in which it is looked at. */
enum guard_instant {
    GUARD_INSTANT_LEASE_KILL,
    GUARD_INSTANT_STOP_KILL,
    GUARD_INSTANT_LEASE_TERM,
    GUARD_INSTANT_LEFTOVERS_TERM,
    GUARD_INSTANT_LEFTOVERS_KILL,
    GUARD_INSTANT_SWEEP,
    GUARD_INSTANT_LEASERUN_KILL,
    GUARD_INSTANT_COUNT
};

struct guard {
    struct guard_arguments arguments;
    struct fds given; /* the command's, until it has been forked */
    struct guard_setup setup;
    pid_t leaserun;
    int leaserun_pidfd, child_fd, timer_fd;
    int fault_fd; /* STARTING: from the child; -1 else */

    enum guard_phase phase;
    pid_t command;
    int early_stop; /* STARTING: it was stopped by this signal, and continued */
    struct guard_ending ending;
    enum guard_killer killer;
    int64_t due_boot_ms[GUARD_INSTANT_COUNT];

    char holder[IDENTITY_HOLDER_MAX];    /* "" while nothing may be held */
    char unstarted[IDENTITY_RUN_ID_MAX]; /* the run it is held for, "" from its start on */
    enum guard_leftovers leftovers;
    int64_t grace_ms;
    int32_t continue_count;
    bool is_paused;   /* leaserun has stopped itself, with the terminal */
    bool is_stopping; /* leaserun has asked for the end: it is alive, and knows */
    bool is_orphaned; /* leaserun is gone */
};
