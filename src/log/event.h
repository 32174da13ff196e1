/* SPDX-License-Identifier: ISC */
/* What leaserun tells: the closed list of events. events[] in event.c is the one table: levels,
 * `help events` and the manual are made from it. */
#pragma once
#include <stdbool.h>

enum level {
    LEVEL_DEBUG,
    LEVEL_INFO,
    LEVEL_WARN,
    LEVEL_ERROR,
    LEVEL_COUNT
};

/* "debug" "info" "warn" "error"; -1 from level_parse when it is none of these. */
const char *level_name(enum level level);
int level_parse(const char *name);

enum event {
    EVENT_CLAIM_WON,
    EVENT_CLAIM_HELD,
    EVENT_CLAIM_WAITS, /* --wait: waiting for the holder, told once */
    EVENT_SLOT_DONE,
    EVENT_SLOT_EARLY,
    EVENT_SLOT_MISSED,
    EVENT_CLAIM_FAILED,
    EVENT_CLOCK_AHEAD,
    EVENT_RENEW_FAILED,
    EVENT_STORE_LOST,
    EVENT_STORE_RESTORED,
    EVENT_STORE_NOTE,
    EVENT_LEASE_LOST,
    EVENT_GUARD_DIED,
    EVENT_LEFTOVERS,
    EVENT_RUN_FINISHED,
    EVENT_RUN_FAILED,     /* not started, ended by timeout: what leaserun itself must say of it */
    EVENT_ATTEMPT_FAILED, /* and another follows, under the same lease */
    EVENT_RUN_STOPPED,
    EVENT_RUN_ABANDONED,
    EVENT_RUN_TAKEN_OVER, /* an interrupted run begins again */
    EVENT_RUN_GIVEN_UP,   /* or has begun often enough */
    EVENT_RELEASE_FAILED,
    EVENT_TERMINAL_STOP,   /* Ctrl-Z: how long the lease lasts */
    EVENT_STORE_DOWN,      /* an outage has lasted */
    EVENT_SCHEDULER_READY, /* `schedule` itself, from here on */
    EVENT_SCHEDULER_STOPPING,
    EVENT_SCHEDULER_REFUSED,
    EVENT_TABLE_EMPTY,
    EVENT_TABLE_RELOADED,
    EVENT_RELOAD_FAILED,
    EVENT_SCHEDULE_DIFFERS,
    EVENT_CLOCK_STEPPED,
    EVENT_PURGE_FAILED,
    EVENT_HOOK_FINISHED, /* on-success and kin */
    EVENT_HOOK_FAILED,
    EVENT_OUTPUT,     /* a line that the command has written */
    EVENT_LINES_LOST, /* the log's own: stderr took no lines for a while */
    EVENT_COUNT
};

struct event_row {
    const char *name;   /* "claim_won" */
    enum level level;   /* in `run`; callers may raise or lower it where the table says so */
    const char *when;   /* one clause, for help and manual */
    const char *fields; /* those it carries beside at, level, event, key */
};

extern const struct event_row events[EVENT_COUNT];
