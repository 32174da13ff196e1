/* SPDX-License-Identifier: ISC */
/* Of a job of the table. */
#include "base/utf8.h"
#include "conf/job.h"
#include "conf/settings_rows.h"
#include "conf/words.h"
#include "cron/cron.h"

#include <stdlib.h>

static const struct value_choice misfire_choices[] = {
    {"skip", JOB_MISFIRE_SKIP},
    {"latest", JOB_MISFIRE_LATEST},
    {"all", JOB_MISFIRE_ALL},
    {NULL, 0},
};
static const struct value_choice overlap_choices[] = {
    {"skip", JOB_OVERLAP_SKIP},
    {"wait", JOB_OVERLAP_WAIT},
    {NULL, 0},
};
static const struct value_choice if_interrupted_choices[] = {
    {"report", JOB_IF_INTERRUPTED_REPORT},
    {"rerun", JOB_IF_INTERRUPTED_RERUN},
    {NULL, 0},
};
static const struct value_choice claim_failure_choices[] = {
    {"auto", JOB_CLAIM_FAILURE_AUTO},
    {"error", JOB_CLAIM_FAILURE_ERROR},
    {NULL, 0},
};
static const struct value_choice output_choices[] = {
    {"raw", JOB_OUTPUT_RAW},
    {"lines", JOB_OUTPUT_LINES},
    {"discard", JOB_OUTPUT_DISCARD},
    {NULL, 0},
};

static bool check_schedule(const char *value, struct error *err)
{
    struct cron cron;
    return cron_parse(value, NULL, &cron, err);
}

static bool check_timezone(const char *value, struct error *err)
{
    return zone_find(value, err) != NULL;
}

static bool check_words(const char *value, struct error *err)
{
    char **words = words_split(value, NULL, err);
    bool is_good = words != NULL && words[0] != NULL && words[0][0] != '\0';
    if (words != NULL && !is_good)
        error_set(err, ERROR_CONFIG, "the first word is empty: it names the program");
    free(words);
    return is_good;
}

static bool check_env(const char *value, struct error *err)
{
    char **words = words_split_assignments(value, err);
    free(words);
    return words != NULL;
}

static bool check_umask(const char *value, struct error *err)
{
    int mask;
    return value_parse_umask(value, &mask, err);
}

static const struct setting rows[] = {
    {
        .key = "schedule",
        .group = SETTING_TABLE,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, schedule),
        .argument = "SCHEDULE",
        .example = "0 2 * * *",
        .check = check_schedule,
        .help = "when it is due",
        .manual = "Five fields as in crontab(5), or six with seconds first; @hourly, @daily, "
                  "@weekly, @monthly, @yearly; every DURATION, counted from the epoch; @once, "
                  "until it has succeeded; @reboot, at each start of a scheduler.",
    },
    {
        .key = "command",
        .group = SETTING_TABLE,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, command),
        .argument = "COMMAND",
        .example = "/usr/local/bin/report --all >>/var/log/report.log 2>&1",
        .help = "what to run, for the shell",
        .manual = "All of the line is given to the shell as it stands; % has no meaning of its "
                  "own.",
    },
    {
        .key = "exec",
        .group = SETTING_TABLE,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, exec),
        .argument = "WORDS",
        .example = "/usr/local/bin/report --all",
        .check = check_words,
        .help = "what to run without a shell, instead of command",
        .manual = "Blanks separate the words; quotes and backslashes join them as in a shell, "
                  "and nothing is expanded.",
    },
    {
        .key = "key",
        .group = SETTING_TABLE,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, key),
        .argument = "KEY",
        .example = "report",
        .check = utf8_check_key,
        .help = "the lease that it needs, if not that of its own name",
        .manual = "Jobs with the same key never run at the same time.",
    },
    {
        .key = "timezone",
        .group = SETTING_JOB,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, timezone),
        .argument = "ZONE",
        .example = "Europe/Paris",
        .check = check_timezone,
        .help = "whose calendar the schedule follows",
        .manual = "A name of the system's zone data, such as UTC. On a store that hosts share a "
                  "schedule of calendar fields needs one, unless this host's zone is UTC, so "
                  "that all hosts mean the same instants; without one this host's zone holds.",
    },
    {
        .key = "shell",
        .group = SETTING_JOB,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, shell),
        .argument = "WORDS",
        .initial = "/bin/sh",
        .check = check_words,
        .help = "the shell that command is given to, behind -c",
        .manual = "It may have options: /bin/bash -e.",
    },
    {
        .key = "enabled",
        .group = SETTING_JOB,
        .type = SETTING_SWITCH,
        .offset = offsetof(struct job, is_enabled),
        .initial = "yes",
        .help = "whether a scheduler runs it",
        .manual = "leaserun run runs a job that is not enabled too.",
    },
    {
        .key = "misfire",
        .group = SETTING_JOB,
        .type = SETTING_CHOICE,
        .offset = offsetof(struct job, misfire),
        .argument = "WHAT",
        .initial = "skip",
        .choices = misfire_choices,
        .help = "slots that passed while no scheduler was there",
        .manual = "skip records them as missed; latest runs the last of them; all runs them in "
                  "order.",
    },
    {
        .key = "overlap",
        .group = SETTING_JOB,
        .type = SETTING_CHOICE,
        .offset = offsetof(struct job, overlap),
        .argument = "WHAT",
        .initial = "skip",
        .choices = overlap_choices,
        .help = "a slot that comes while the key is held",
        .manual = "skip leaves it out; wait tries it as long as its start-within lasts.",
    },
    {
        .key = "jitter",
        .group = SETTING_JOB,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, jitter_ms),
        .argument = "DURATION",
        .initial = "0",
        .most = 86400000,
        .help = "start up to this much later than due",
        .manual = "How much follows from key and slot, so that it is the same for every "
                  "scheduler.",
    },
    {
        .key = "retries",
        .group = SETTING_JOB,
        .type = SETTING_COUNT,
        .offset = offsetof(struct job, retries),
        .argument = "COUNT",
        .initial = "0",
        .most = 1000,
        .help = "start the command again this often after it failed",
        .manual = "Within the same run and under the same lease.",
    },
    {
        .key = "retry-delay",
        .group = SETTING_JOB,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, retry_delay_ms),
        .argument = "DURATION",
        .initial = "10s",
        .help = "the time between a failure and the next start",
    },
    {
        .key = "if-interrupted",
        .group = SETTING_JOB,
        .type = SETTING_CHOICE,
        .offset = offsetof(struct job, if_interrupted),
        .argument = "WHAT",
        .initial = "report",
        .choices = if_interrupted_choices,
        .help = "a run whose host died or was shut down",
        .manual = "report records it and no more; rerun lets a scheduler begin the run of a slot "
                  "again, at another host or after a restart, for commands that may be repeated. "
                  "A run that a person starts or ends is not begun again.",
    },
    {
        .key = "max-attempts",
        .group = SETTING_JOB,
        .type = SETTING_COUNT,
        .offset = offsetof(struct job, max_attempts),
        .argument = "COUNT",
        .initial = "3",
        .least = 1,
        .most = 1000,
        .help = "how often a run may begin in all under if-interrupted",
        .manual = "Interrupted once more it is given up, which is told as an error.",
    },
    {
        .key = "claim-failure",
        .group = SETTING_JOB,
        .type = SETTING_CHOICE,
        .offset = offsetof(struct job, claim_failure),
        .argument = "LEVEL",
        .initial = "auto",
        .choices = claim_failure_choices,
        .help = "how loud a slot is whose lease could not be asked for",
        .manual = "auto warns of the first two in a row of a job that repeats within a minute, "
                  "and makes all others errors; error makes them all errors.",
    },
    {
        .key = "user",
        .group = SETTING_JOB,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, user),
        .argument = "USER",
        .example = "nobody",
        .help = "run the command as USER",
        .manual = "A name or a number, with all groups of USER, a clean environment and the home "
                  "of USER as its folder; leaserun itself must run as root.",
    },
    {
        .key = "group",
        .group = SETTING_JOB,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, group),
        .argument = "GROUP",
        .example = "nogroup",
        .help = "run the command with GROUP as its group",
    },
    {
        .key = "cwd",
        .group = SETTING_JOB,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, cwd),
        .argument = "FOLDER",
        .example = "/var/lib/report",
        .help = "run the command in FOLDER",
        .manual = "Without it in leaserun's own, or with user in that user's home.",
    },
    {
        .key = "umask",
        .group = SETTING_JOB,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, umask),
        .argument = "OCTAL",
        .example = "027",
        .check = check_umask,
        .help = "the umask of the command",
    },
    {
        .key = "env",
        .group = SETTING_JOB,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, env),
        .argument = "WORDS",
        .example = "LANG=C.UTF-8 GREETING='good morning'",
        .check = check_env,
        .help = "variables of the command, NAME=VALUE words",
        .manual = "Quoted as in exec. They count over env-file, and that over leaserun's own "
                  "environment or, with user, over a clean one.",
    },
    {
        .key = "env-file",
        .group = SETTING_JOB,
        .type = SETTING_TEXT,
        .offset = offsetof(struct job, env_file),
        .argument = "FILE",
        .example = "/etc/leaserun/report.env",
        .help = "a file with more variables, NAME=VALUE a line",
        .manual = "It is read when the command starts; nothing in it is quoted.",
    },
    {
        .option = "output",
        .key = "output",
        .group = SETTING_JOB,
        .type = SETTING_CHOICE,
        .offset = offsetof(struct job, output),
        .argument = "WHAT",
        .initial = "raw",
        .choices = output_choices,
        .help = "where stdout and stderr of the command go",
        .manual = "raw is leaserun's own stdout and stderr; lines makes each line an event of "
                  "leaserun's log, with job, run and stream; discard drops them.",
    },
    {
        .option = "output-tail",
        .key = "output-tail",
        .group = SETTING_JOB,
        .type = SETTING_SIZE,
        .offset = offsetof(struct job, output_tail),
        .argument = "SIZE",
        .initial = "0",
        .most = 1048576,
        .help = "keep so much of the end of the output with the run",
        .manual = "Where output is lines or discard. history --output-tail shows it.",
    },
};
const struct setting_rows settings_job = {rows, sizeof rows / sizeof rows[0]};
