/* SPDX-License-Identifier: ISC */
/* What to run under which lease: a job's settings, as they come from options, from leaserun.ini
 * and from defaults. settings.c is the one table of them. */
#pragma once
#include "guard/guard_protocol.h"

#include <stdbool.h>
#include <stdint.h>

enum once_per {
    ONCE_PER_NONE,
    ONCE_PER_MINUTE,
    ONCE_PER_HOUR,
    ONCE_PER_DAY
};

struct job {
    char *name; /* NULL for a command given on the command line */
    char *key;
    int64_t ttl_ms;
    int64_t wait_ms;          /* 0: do not wait; JOB_WAIT_FOREVER */
    int64_t timeout_ms;       /* 0: none */
    int64_t grace_ms;         /* TERM to KILL while the lease is kept */
    int64_t start_within_ms;  /* how long after it was typed, or after its slot, it may start */
    int64_t hold_at_least_ms; /* the key is not free again sooner than this after the claim */
    int64_t held_exit;        /* exit status when it is not run here */
    enum once_per once_per;
    bool is_once;
    enum guard_leftovers leftovers;
};
#define JOB_WAIT_FOREVER INT64_MAX
