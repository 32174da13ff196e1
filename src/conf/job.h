/* SPDX-License-Identifier: ISC */
/* What to run, when, and under which lease: a job's settings, as they come from options, from
 * leaserun.ini and from defaults. settings.c is the one table of them. */
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

/* What becomes of slots that passed while no scheduler was there to try them. */
enum job_misfire {
    JOB_MISFIRE_SKIP,   /* each is told as missed */
    JOB_MISFIRE_LATEST, /* the latest is run, those before it are missed */
    JOB_MISFIRE_ALL,    /* all are run, in order, up to a bound */
};

/* What becomes of a slot that comes while the key is held. */
enum job_overlap {
    JOB_OVERLAP_SKIP,
    JOB_OVERLAP_WAIT, /* as long as the slot's window is open */
};

/* What becomes of a run whose holder died or was stopped. */
enum job_if_interrupted {
    JOB_IF_INTERRUPTED_REPORT,
    JOB_IF_INTERRUPTED_RERUN, /* another scheduler, or the same after its restart, runs it again */
};

/* The level of a slot's failed claim. */
enum job_claim_failure {
    JOB_CLAIM_FAILURE_AUTO, /* a job that repeats within a minute has two warnings free */
    JOB_CLAIM_FAILURE_ERROR,
};

enum job_output {
    JOB_OUTPUT_RAW, /* leaserun's own stdout and stderr */
    JOB_OUTPUT_LINES,
    JOB_OUTPUT_DISCARD,
};

/* What else may be run when something has become of a run or slot. */
enum job_hook {
    JOB_HOOK_SUCCESS,
    JOB_HOOK_FAILURE, /* failed, not_started, timed_out, stopped */
    JOB_HOOK_LOST,
    JOB_HOOK_MISSED,    /* a slot, by who is first to tell */
    JOB_HOOK_ABANDONED, /* a run of another, by who is first to tell */
    JOB_HOOK_COUNT
};

#define JOB_START_WITHIN_AUTO     (-1) /* until the job's next slot, an hour at most; typed: */
#define JOB_START_WITHIN_TYPED_MS INT64_C(60000)

struct job {
    char *name; /* NULL for a command given on the command line */
    char *key;  /* the name where the table gives none */
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

    /* In the job table alone: */
    char *schedule;
    char *timezone; /* IANA name; NULL: the host's */
    char *command;  /* for the shell; or */
    char *exec;     /* words, without a shell */
    char *shell;
    bool is_enabled;
    enum job_misfire misfire;
    enum job_overlap overlap;
    int64_t jitter_ms;
    int64_t retries; /* further starts of the command within one run, after a failure */
    int64_t retry_delay_ms;
    enum job_if_interrupted if_interrupted;
    int64_t max_attempts; /* takings-over of an interrupted run, the first start included */
    enum job_claim_failure claim_failure;
    char *user, *group, *cwd, *umask;
    char *env;      /* NAME=VALUE words, quoted as a shell would */
    char *env_file; /* a NAME=VALUE a line */
    enum job_output output;
    int64_t output_tail;         /* bytes of output kept with the run */
    char *hooks[JOB_HOOK_COUNT]; /* for the shell; NULL: none */
    int64_t hook_timeout_ms;
    const char *file; /* where it stands: borrowed from the table */
    int line;
};
#define JOB_WAIT_FOREVER INT64_MAX
