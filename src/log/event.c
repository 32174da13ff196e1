/* SPDX-License-Identifier: ISC */
#include "log/event.h"

#include <string.h>

static const char *const level_names[LEVEL_COUNT] = {
    [LEVEL_DEBUG] = "debug",
    [LEVEL_INFO] = "info",
    [LEVEL_WARN] = "warn",
    [LEVEL_ERROR] = "error",
};

const char *level_name(enum level level)
{
    return level_names[level];
}

int level_parse(const char *name)
{
    for (int level = 0; level < LEVEL_COUNT; level++)
        if (strcmp(level_names[level], name) == 0)
            return level;
    return -1;
}

/* name: as it stands in a line. level: in `run`. when: one clause that ends "told when ...".
 * fields: what a line carries beside at, level, event, key and message. */
const struct event_row events[EVENT_COUNT] = {
    [EVENT_CLAIM_WON] =
        {
            .name = "claim_won",
            .level = LEVEL_DEBUG,
            .when = "the lease was won and the command is being started",
            .fields = "job slot fence run_id holder took_ms",
        },
    [EVENT_CLAIM_HELD] =
        {
            .name = "claim_held",
            .level = LEVEL_INFO,
            .when = "another holds the lease and the command was not run here",
            .fields = "job slot holder fence took_ms",
        },
    [EVENT_CLAIM_WAITS] =
        {
            .name = "claim_waits",
            .level = LEVEL_INFO,
            .when = "another holds the lease and --wait lets us wait for it; told once",
            .fields = "job slot holder",
        },
    [EVENT_SLOT_DONE] =
        {
            .name = "slot_done",
            .level = LEVEL_DEBUG,
            .when = "the slot was started by another, or a once-only key has succeeded before",
            .fields = "job slot holder",
        },
    [EVENT_SLOT_EARLY] =
        {
            .name = "slot_early",
            .level = LEVEL_INFO,
            .when =
                "this host's clock was ahead of the slot by the store's clock; it was waited for",
            .fields = "job slot took_ms",
        },
    [EVENT_SLOT_MISSED] =
        {
            .name = "slot_missed",
            .level = LEVEL_ERROR,
            .when = "the slot's window closed and nobody had started it",
            .fields = "job slot error",
        },
    [EVENT_CLAIM_FAILED] =
        {
            .name = "claim_failed",
            .level = LEVEL_ERROR,
            .when =
                "the store gave no verdict on the claim in time, or refused it; the command was "
                "not run",
            .fields = "job slot streak took_ms error sqlstate",
        },
    [EVENT_CLOCK_AHEAD] =
        {
            .name = "clock_ahead",
            .level = LEVEL_ERROR,
            .when = "this host's clock is more than a minute ahead of the store's",
            .fields = "job slot",
        },
    [EVENT_RENEW_FAILED] =
        {
            .name = "renew_failed",
            .level = LEVEL_WARN,
            .when = "a renewal failed and there is time left to repeat it",
            .fields = "job slot fence run_id error sqlstate",
        },
    [EVENT_STORE_LOST] =
        {
            .name = "store_lost",
            .level = LEVEL_WARN,
            .when = "the connection to the store was lost; told once for each outage",
            .fields = "error sqlstate",
        },
    [EVENT_STORE_RESTORED] =
        {
            .name = "store_restored",
            .level = LEVEL_INFO,
            .when = "the store answers again",
            .fields = "took_ms",
        },
    [EVENT_STORE_NOTE] =
        {
            .name = "store_note",
            .level = LEVEL_WARN,
            .when = "the store was found on another timeline: a standby was promoted (error: two "
                    "hosts share an SQLite file)",
            .fields = "fence run_id",
        },
    [EVENT_LEASE_LOST] =
        {
            .name = "lease_lost",
            .level = LEVEL_ERROR,
            .when =
                "the lease was taken over, revoked or ran out while the command ran; the command "
                "is being ended",
            .fields = "job slot fence run_id holder error sqlstate",
        },
    [EVENT_GUARD_DIED] =
        {
            .name = "guard_died",
            .level = LEVEL_ERROR,
            .when =
                "the command's guard was killed or stopped answering; the command is being ended",
            .fields = "job slot fence run_id",
        },
    [EVENT_LEFTOVERS] =
        {
            .name = "leftovers",
            .level = LEVEL_WARN,
            .when = "the command has ended and processes that it started have not",
            .fields = "job slot fence run_id",
        },
    [EVENT_RUN_FINISHED] =
        {
            .name = "run_finished",
            .level = LEVEL_DEBUG,
            .when = "the command has ended, whatever its status, and the lease was given back",
            .fields = "job slot fence run_id outcome status took_ms output_tail",
        },
    [EVENT_RUN_FAILED] =
        {
            .name = "run_failed",
            .level = LEVEL_ERROR,
            .when = "the command failed, could not be started, or was ended by its timeout",
            .fields = "job slot fence run_id outcome status took_ms output_tail error",
        },
    [EVENT_ATTEMPT_FAILED] =
        {
            .name = "attempt_failed",
            .level = LEVEL_WARN,
            .when = "the command failed and is started again, the lease kept (retries)",
            .fields = "job slot fence run_id status",
        },
    [EVENT_RUN_STOPPED] =
        {
            .name = "run_stopped",
            .level = LEVEL_INFO,
            .when = "the command was ended because leaserun was told to stop",
            .fields = "job slot fence run_id outcome status took_ms",
        },
    [EVENT_RUN_ABANDONED] =
        {
            .name = "run_abandoned",
            .level = LEVEL_ERROR,
            .when = "an earlier run of this key never told how it ended: its host or its leaserun "
                    "died",
            .fields = "job run_id fence holder",
        },
    [EVENT_RUN_TAKEN_OVER] =
        {
            .name = "run_taken_over",
            .level = LEVEL_WARN,
            .when = "a run whose host died or was stopped is run again here (if-interrupted)",
            .fields = "job slot fence run_id holder",
        },
    [EVENT_RUN_GIVEN_UP] =
        {
            .name = "run_given_up",
            .level = LEVEL_ERROR,
            .when = "a run was interrupted once more and has begun max-attempts times: it stays as "
                    "it is",
            .fields = "job slot run_id",
        },
    [EVENT_RELEASE_FAILED] =
        {
            .name = "release_failed",
            .level = LEVEL_ERROR,
            .when = "the lease could not be given back; it ends at the latest when its ttl is over",
            .fields = "job slot fence run_id outcome status error sqlstate",
        },
    [EVENT_TERMINAL_STOP] =
        {
            .name = "terminal_stop",
            .level = LEVEL_WARN,
            .when = "the command was stopped from the terminal; the line says how long the lease "
                    "lasts",
            .fields = "job slot fence run_id",
        },
    [EVENT_STORE_DOWN] =
        {
            .name = "store_down",
            .level = LEVEL_ERROR,
            .when = "an outage of the store has lasted half a minute",
            .fields = "took_ms error sqlstate",
        },
    [EVENT_SCHEDULER_READY] =
        {
            .name = "scheduler_ready",
            .level = LEVEL_INFO,
            .when = "the table was read and the scheduler has begun",
            .fields = "job",
        },
    [EVENT_SCHEDULER_STOPPING] =
        {
            .name = "scheduler_stopping",
            .level = LEVEL_INFO,
            .when = "a scheduler was told to end: nothing more is started",
            .fields = "",
        },
    [EVENT_SCHEDULER_REFUSED] =
        {
            .name = "scheduler_refused",
            .level = LEVEL_ERROR,
            .when = "a scheduler ends at its start: the store lacks its schema, or rights to it",
            .fields = "error sqlstate",
        },
    [EVENT_TABLE_EMPTY] =
        {
            .name = "table_empty",
            .level = LEVEL_WARN,
            .when = "the job table has no enabled job with a schedule",
            .fields = "",
        },
    [EVENT_TABLE_RELOADED] =
        {
            .name = "table_reloaded",
            .level = LEVEL_INFO,
            .when = "another job table is in use now",
            .fields = "",
        },
    [EVENT_RELOAD_FAILED] =
        {
            .name = "reload_failed",
            .level = LEVEL_ERROR,
            .when = "a job table that was read again has a fault; the one before stays in use; a "
                    "line for each fault",
            .fields = "",
        },
    [EVENT_SCHEDULE_DIFFERS] =
        {
            .name = "schedule_differs",
            .level = LEVEL_WARN,
            .when = "another scheduler on this store has another schedule for the job",
            .fields = "job slot",
        },
    [EVENT_CLOCK_STEPPED] =
        {
            .name = "clock_stepped",
            .level = LEVEL_WARN,
            .when = "this host's clock was set",
            .fields = "",
        },
    [EVENT_PURGE_FAILED] =
        {
            .name = "purge_failed",
            .level = LEVEL_WARN,
            .when = "the hourly purge was refused",
            .fields = "error sqlstate",
        },
    [EVENT_HOOK_FINISHED] =
        {
            .name = "hook_finished",
            .level = LEVEL_DEBUG,
            .when = "a hook (on-success, on-failure and their kin) has ended with 0",
            .fields = "job slot fence run_id hook status took_ms",
        },
    [EVENT_HOOK_FAILED] =
        {
            .name = "hook_failed",
            .level = LEVEL_WARN,
            .when = "a hook failed, could not be started, or was ended: by its hook-timeout, or "
                    "with leaserun",
            .fields = "job slot fence run_id hook status took_ms error",
        },
    [EVENT_OUTPUT] =
        {
            .name = "output",
            .level = LEVEL_INFO,
            .when = "the command has written a line, and output is lines; told at every level",
            .fields = "job slot fence run_id hook stream continues",
        },
    [EVENT_LINES_LOST] =
        {
            .name = "lines_lost",
            .level = LEVEL_WARN,
            .when = "lines before this one could not be written: nobody read them, or a disk was "
                    "full",
            .fields = "",
        },
};
