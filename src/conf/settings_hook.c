/* SPDX-License-Identifier: ISC */
/* Of a job of the table: what is run when something has become of a run or slot. */
#include "conf/job.h"
#include "conf/settings_rows.h"

static const struct setting rows[] = {
    {
        .key = "on-success",
        .group = SETTING_JOB,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, hooks[JOB_HOOK_SUCCESS]),
        .argument = "COMMAND",
        .example = "curl -fsS -m 10 https://ping.example/report",
        .help = "what to run after a run that succeeded",
        .manual =
            "A line for the shell, run as the command is once its lease was given back. HOOKS in "
            "leaserun.ini(5) says more.",
    },
    {
        .key = "on-failure",
        .group = SETTING_JOB,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, hooks[JOB_HOOK_FAILURE]),
        .argument = "COMMAND",
        .example = "mail -s \"$LEASERUN_JOB: $LEASERUN_OUTCOME\" root",
        .help = "what to run after a run that failed",
        .manual =
            "That is one whose command failed, could not be started, ran into its timeout, or was "
            "stopped with leaserun.",
    },
    {
        .key = "on-lost",
        .group = SETTING_JOB,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, hooks[JOB_HOOK_LOST]),
        .argument = "COMMAND",
        .example = "/usr/local/bin/page",
        .help = "what to run after a run whose lease was lost",
        .manual = "Its command has been ended before.",
    },
    {
        .key = "on-missed",
        .group = SETTING_JOB,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, hooks[JOB_HOOK_MISSED]),
        .argument = "COMMAND",
        .example = "/usr/local/bin/page",
        .help = "what to run after a slot that nobody has started in time",
        .manual = "It is run by one scheduler: the first to tell of the slot.",
    },
    {
        .key = "on-abandoned",
        .group = SETTING_JOB,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, hooks[JOB_HOOK_ABANDONED]),
        .argument = "COMMAND",
        .example = "/usr/local/bin/page",
        .help = "what to run after a run that never told its end",
        .manual = "Its leaserun or its host has died. It is run by one scheduler: by the next to "
                  "win the key, or by the one that gives the run up (max-attempts).",
    },
    {
        .key = "hook-timeout",
        .group = SETTING_JOB,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, hook_timeout_ms),
        .argument = "DURATION",
        .initial = "30s",
        .least = 1000,
        .most = 3600000,
        .help = "end a hook that runs longer than this",
        .manual = "It and what it has started get KILL.",
    },
};
const struct setting_rows settings_hook = {rows, sizeof rows / sizeof rows[0]};
