/* SPDX-License-Identifier: ISC */
#include "cli/command_options.h"

#include "cli/options.h"
#include "cron/crontab.h"

#include <stddef.h>

#define OWN_ROW   .group = SETTING_COMMAND
#define MEMBER(m) offsetof(struct options, m)

const struct setting command_options_run[] = {
    {
        OWN_ROW,
        .option = "dry-run",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_dry_run),
        .help = "say what would be done, and do nothing",
    },
    {
        OWN_ROW,
        .option = "slot",
        .type = SETTING_TEXT,
        .offset = MEMBER(slot),
        .argument = "TIME",
        .help = "make up for the slot of JOB at TIME, which nobody has started",
        .manual = "TIME is one of those that history --slots lists, such as 2027-03-28T02:00:00Z, "
                  "or without a zone in that of the job. The command has it in LEASERUN_SLOT. The "
                  "slot may be recorded as missed or skipped, or not at all: its record is the "
                  "run's then, and it is run once. The exit status is 75 when the slot was "
                  "started.",
    },
    {.option = NULL},
};

const struct setting command_options_schedule[] = {
    {
        OWN_ROW,
        .option = "init",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_init),
        .help = "create what is missing in the store first, as init does",
    },
    {.option = NULL},
};

const struct setting command_options_status[] = {
    {
        OWN_ROW,
        .option = "json",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_json),
        .help = "one JSON object a line",
    },
    {
        OWN_ROW,
        .option = "max-age",
        .type = SETTING_DURATION,
        .offset = MEMBER(max_age_ms),
        .argument = "DURATION",
        .least = 1,
        .help = "fail when the last success of KEY is older",
        .manual = "The exit status is then 1, for monitoring.",
    },
    {.option = NULL},
};

const struct setting command_options_history[] = {
    {
        OWN_ROW,
        .option = "json",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_json),
        .help = "one JSON object a line",
    },
    {
        OWN_ROW,
        .option = "limit",
        .type = SETTING_COUNT,
        .offset = MEMBER(limit_count),
        .argument = "N",
        .initial = "20",
        .least = 1,
        .most = 1000000,
        .help = "no more than the newest N runs",
    },
    {
        OWN_ROW,
        .option = "output-tail",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_output_tail),
        .help = "the end of what the commands wrote, where it was kept",
        .manual = "See output-tail in leaserun.ini. Control characters and bytes that are no UTF-8 "
                  "are shown as they are in the log; --json has the bytes.",
    },
    {
        OWN_ROW,
        .option = "slots",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_slots),
        .help = "every slot of JOB and what became of it",
        .manual = "One line for each slot of its schedule, also for those that nobody tried: due "
                  "as long as they may still start, then missed. It begins with the oldest slot "
                  "that the store remembers. Behind JOB stand the files and folders of the job "
                  "table where schedule was given any.",
    },
    {.option = NULL},
};

const struct setting command_options_release[] = {
    {
        OWN_ROW,
        .option = "stop",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_stop),
        .help = "end the run of a live holder",
        .manual = "Its next renewal learns of it, and it ends its command. The key is free then, "
                  "or when the lease runs out if the holder does not answer, never before.",
    },
    {
        OWN_ROW,
        .option = "store-fd",
        .type = SETTING_COUNT,
        .offset = MEMBER(store_fd),
        .argument = "FD",
        .most = 1000000,
        .help = "for leaserun's guard",
        .is_hidden = true,
    },
    {
        OWN_ROW,
        .option = "holder",
        .type = SETTING_TEXT,
        .offset = MEMBER(holder),
        .argument = "HOLDER",
        .help = "for leaserun's guard",
        .is_hidden = true,
    },
    {
        OWN_ROW,
        .option = "unstarted",
        .type = SETTING_TEXT,
        .offset = MEMBER(unstarted),
        .argument = "RUN",
        .help = "for leaserun's guard",
        .is_hidden = true,
    },
    {.option = NULL},
};

const struct setting command_options_purge[] = {
    {
        OWN_ROW,
        .option = "retention",
        .type = SETTING_DURATION,
        .offset = MEMBER(retention_ms),
        .argument = "DURATION",
        .initial = "24h",
        .help = "keep leases that ended less than this ago",
        .manual = "Those of slots are kept for 400 days, finished runs for 90.",
    },
    {
        OWN_ROW,
        .option = "forget",
        .type = SETTING_TEXT,
        .offset = MEMBER(forget_key),
        .argument = "KEY",
        .help = "delete KEY's lease and finished runs instead",
        .manual = "A command under --once can then run again. A live lease is not touched.",
    },
    {.option = NULL},
};

const struct setting command_options_init[] = {
    {
        OWN_ROW,
        .option = "print-sql",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_print_sql),
        .help = "print the statements and grants instead",
    },
    {.option = NULL},
};

const struct setting command_options_check[] = {
    {
        OWN_ROW,
        .option = "connect",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_connect),
        .help = "ask the store too: schema, rights, what to know of it",
    },
    {
        OWN_ROW,
        .option = "live",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_live),
        .help = "what the store knows of each job, and keys without a job",
        .manual =
            "Who holds its key now, its last slot and the outcome, and whether the schedule that "
            "slot was named by is the same as in this table or another: a replica keeps another "
            "table then, or this one is newer than the slot. A key without a job may be that of a "
            "command that was typed, or forgotten: purge --forget deletes it.",
    },
    {
        OWN_ROW,
        .option = "json",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_json),
        .help = "of --live: one JSON object a line, and nothing else",
    },
    {.option = NULL},
};

const struct setting command_options_next[] = {
    {
        OWN_ROW,
        .option = "schedule",
        .type = SETTING_TEXT,
        .offset = MEMBER(schedule),
        .argument = "EXPRESSION",
        .help = "a schedule, as in leaserun.ini",
    },
    {
        OWN_ROW,
        .option = "timezone",
        .type = SETTING_TEXT,
        .offset = MEMBER(timezone),
        .argument = "ZONE",
        .help = "the zone of --schedule, by default the host's",
    },
    {
        OWN_ROW,
        .option = "from",
        .type = SETTING_TEXT,
        .offset = MEMBER(from),
        .argument = "INSTANT",
        .help = "slots after it instead of those after now",
        .manual = "An instant is 2027-03-28T02:00:00Z, or local time of the zone: "
                  "\"2027-03-28 02:00\", 2027-03-28.",
    },
    {
        OWN_ROW,
        .option = "count",
        .letter = 'n',
        .type = SETTING_COUNT,
        .offset = MEMBER(slot_count),
        .argument = "N",
        .least = 1,
        .most = 100000,
        .help = "how many slots; 5, or 1 of each job",
    },
    {
        OWN_ROW,
        .option = "json",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_json),
        .help = "one JSON object a line",
    },
    {.option = NULL},
};

static const struct value_choice import_formats[] = {
    {"crontab", CRONTAB_CRON},
    {"supercronic", CRONTAB_SUPERCRONIC},
    {NULL, 0},
};

const struct setting command_options_import[] = {
    {
        OWN_ROW,
        .option = "format",
        .type = SETTING_CHOICE,
        .offset = MEMBER(format),
        .argument = "FORMAT",
        .initial = "crontab",
        .choices = import_formats,
        .help = "whose reading of FILE",
        .manual = "In supercronic's, six fields end with a year, seven begin with seconds too, "
                  "and % means nothing.",
    },
    {
        OWN_ROW,
        .option = "user-column",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_user_column),
        .help = "a user stands before each command",
        .manual = "As in /etc/crontab and /etc/cron.d, for which this goes without saying.",
    },
    {
        OWN_ROW,
        .option = "timezone",
        .type = SETTING_TEXT,
        .offset = MEMBER(timezone),
        .argument = "ZONE",
        .help = "the zone of FILE's schedules, by default the host's",
        .manual = "CRON_TZ in the file counts over it.",
    },
    {.option = NULL},
};

const struct setting command_options_help[] = {
    {
        OWN_ROW,
        .option = "mdoc",
        .type = SETTING_TEXT,
        .offset = MEMBER(mdoc),
        .argument = "PART",
        .help = "a part of the manual: options, settings, commands, events, exit-status",
        .is_hidden = true,
    },
    {
        OWN_ROW,
        .option = "sample",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_sample),
        .help = "the sample leaserun.ini",
        .is_hidden = true,
    },
    {.option = NULL},
};
