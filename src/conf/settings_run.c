/* SPDX-License-Identifier: ISC */
/* Of a run, typed or scheduled: what `run` has options for. */
#include "conf/job.h"
#include "conf/settings_rows.h"

static const struct value_choice once_per_choices[] = {
    {"minute", ONCE_PER_MINUTE},
    {"hour", ONCE_PER_HOUR},
    {"day", ONCE_PER_DAY},
    {NULL, 0},
};
static const struct value_choice leftovers_choices[] = {
    {"kill", GUARD_LEFTOVERS_KILL},
    {"wait", GUARD_LEFTOVERS_WAIT},
    {"leave", GUARD_LEFTOVERS_LEAVE},
    {NULL, 0},
};

static const struct setting rows[] = {
    {
        .option = "ttl",
        .key = "ttl",
        .group = SETTING_JOB,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, ttl_ms),
        .argument = "DURATION",
        .initial = "3m",
        .least = 5000,
        .most = 604800000,
        .help = "how long the lease outlives a host that died",
        .manual = "The lease is renewed long before, so that this does not limit how long the "
                  "command runs. It is also how long an outage of the store a running command "
                  "survives, less a margin and the time that ending it takes: leaserun check tells "
                  "the figure.",
    },
    {
        .option = "wait",
        .key = "wait",
        .group = SETTING_RUN,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, wait_ms),
        .argument = "DURATION",
        .initial = "0",
        .word = "forever",
        .word_value = JOB_WAIT_FOREVER,
        .help = "wait for the lease this long when it is held",
        .manual = "0 does not wait; forever has no limit.",
    },
    {
        .option = "timeout",
        .key = "timeout",
        .group = SETTING_JOB,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, timeout_ms),
        .argument = "DURATION",
        .initial = "0",
        .help = "end the command when it runs longer than this",
        .manual = "0 is no limit. The exit status is then 124.",
    },
    {
        .option = "grace",
        .key = "grace",
        .group = SETTING_JOB,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, grace_ms),
        .argument = "DURATION",
        .initial = "5s",
        .help = "time between TERM and KILL when the command is ended",
        .manual = "The lease is renewed meanwhile. When the lease is lost, the command gets this "
                  "or a sixth of ttl, whichever is less.",
    },
    {
        .option = "start-within",
        .key = "start-within",
        .group = SETTING_JOB,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, start_within_ms),
        .argument = "DURATION",
        .initial = "auto",
        .word = "auto",
        .word_value = JOB_START_WITHIN_AUTO,
        .help = "give up when it cannot be started this soon",
        .manual =
            "An outage of the store that is over by then only delays the command. The time counts "
            "from the slot, if there is one, else from when leaserun was started. auto is "
            "60s for a command that was typed, and in the table until the next slot, at most "
            "1h. 0 makes one attempt.",
    },
    {
        .option = "hold-at-least",
        .key = "hold-at-least",
        .group = SETTING_JOB,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, hold_at_least_ms),
        .argument = "DURATION",
        .initial = "0",
        .help = "keep the key taken at least this long after the claim",
        .manual = "For short commands on hosts whose clocks differ, where --once-per does not fit.",
    },
    {
        .option = "held-exit",
        .key = "held-exit",
        .group = SETTING_RUN,
        .type = SETTING_COUNT,
        .offset = offsetof(struct job, held_exit),
        .argument = "STATUS",
        .initial = "75",
        .most = 255,
        .help = "the exit status when it is not run here",
        .manual = "0 suits those who take every other status for a failure.",
    },
    {
        .option = "leftovers",
        .key = "leftovers",
        .group = SETTING_JOB,
        .type = SETTING_CHOICE,
        .offset = offsetof(struct job, leftovers),
        .argument = "WHAT",
        .initial = "kill",
        .choices = leftovers_choices,
        .help = "processes that outlive the command that started them",
        .manual = "kill sends TERM, and KILL after grace; wait keeps the lease until they end; "
                  "leave lets them run on without lease, for commands that start daemons.",
    },
    {
        .option = "once",
        .group = SETTING_RUN,
        .type = SETTING_SWITCH,
        .offset = offsetof(struct job, is_once),
        .help = "run only if no run of this key has ever succeeded",
        .manual = "When one has, the exit status is 0. leaserun purge --forget KEY forgets it.",
    },
    {
        .option = "once-per",
        .group = SETTING_RUN,
        .type = SETTING_CHOICE,
        .offset = offsetof(struct job, once_per),
        .argument = "PERIOD",
        .choices = once_per_choices,
        .help = "start once for each minute, hour or day on all hosts",
        .manual = "The period is named by this host's clock and time zone when leaserun starts, as "
                  "cron(8) on the same host does it. For crontabs on several hosts.",
    },
};
const struct setting_rows settings_run = {rows, sizeof rows / sizeof rows[0]};
