/* SPDX-License-Identifier: ISC */
/* One hook: a line of the job's for its shell, run once something has become of a run or slot, as
 * the job's own command is run (user, folder, environment, a guard), but under no lease. Its guard
 * ends it at its limit, with leaserun, and with what it has left behind.
 *
 * It has the words of the run in its environment (LEASERUN_JOB KEY FENCE RUN_ID SLOT ATTEMPT), with
 * LEASERUN_OUTCOME STATUS ERROR over them, each where it applies; on stdin the kept tail of the
 * command's output, else nothing. What it writes goes where the command's output goes, but never to
 * leaserun's stdout: that one's reader waits for the command alone. */
#pragma once
#include "base/identity.h"
#include "base/list.h"
#include "base/time_text.h"
#include "command/command.h"
#include "conf/job.h"
#include "log/log.h"
#include "store/store.h"

#include <stdbool.h>

/* What is to be told by which hook. Everything is borrowed, for the call it is given to. */
struct hook_facts {
    const struct job *job;
    enum job_hook hook;
    const char *key;
    const char *run_id; /* "": none */
    int64_t fence;      /* 0: none */
    int64_t slot_us;    /* NO_INSTANT: none */
    const char *slot;   /* the same or a made-up one, RFC 3339; "": none */
    int attempt;        /* 0: none */
    enum run_outcome outcome;
    int status;        /* -1: none */
    const char *error; /* a sentence; NULL: none */
    const char *tail;  /* tail_length bytes */
    size_t tail_length;
};

/* How it ended. */
struct hook_end {
    int status;       /* 0-255, 128 + signal; -1: it never ran, or is unknown */
    struct error why; /* ERROR_NONE: it ended with 0, and left nothing */
};

struct hook {
    struct list node;
    struct hook_place *place;
    struct job job; /* of its own: what a plan is made of */
    enum job_hook kind;
    char *key;
    char run_id[IDENTITY_RUN_ID_MAX];
    char slot[TIME_TEXT_MAX];
    int64_t fence, slot_us;
    int attempt;
    char *outcome, *status, *error; /* as words of the environment; NULL: none */
    char *tail;                     /* of the command's output: for stdin */
    size_t tail_length;

    struct command_plan plan;
    struct command *command; /* NULL until it was started */
    int64_t started_boot_ms;
    int64_t kill_boot_ms; /* its limit, or the end that it was given */
    bool is_cut_short;    /* that end was nearer than its limit */
    bool has_ended;       /* end says how */
    struct hook_end end;
};

/* Where hooks are run, and who hears of their end. */
struct hook_place {
    uv_loop_t *loop;
    struct log *log;
    char *const *environment;
    const struct signals_given *signals;
    void (*finished)(struct hook *hook); /* hook->end; hook_free may be called */
};

/* Whether the job has this hook. */
bool hook_is_wanted(const struct hook_facts *facts);

/* The key of its setting: "on-failure". */
const char *hook_name(enum job_hook hook);

/* One that waits. */
struct hook *hook_make(struct hook_place *place, const struct hook_facts *facts);
void hook_free(struct hook *hook);

/* Runs it, until end_boot_ms at the longest; finished is called once, from the loop. False: it
 * cannot be, and will not. */
bool hook_start(struct hook *hook, int64_t end_boot_ms, struct error *err);

/* Moves its end nearer. */
void hook_end_by(struct hook *hook, int64_t boot_ms);

/* Tells how it has ended. */
void hook_tell(const struct hook *hook);
