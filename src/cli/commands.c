/* SPDX-License-Identifier: ISC */
#include "cli/commands.h"

#include "base/exit_code.h"
#include "cli/help.h"
#include "cli/say.h"
#include "cli/settle.h"
#include "conf/store_choice.h"
#include "cron/crontab.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define USES_STORE (SETTING_MASK(SETTING_FILE) | SETTING_MASK(SETTING_STORE))
#define OWN_ROW    .group = SETTING_COMMAND
#define MEMBER(m)  offsetof(struct options, m)

static const struct setting run_options[] = {
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
                  "exit status is 75 when the slot was started. One that is recorded as missed or "
                  "skipped stays so, and the command runs as often as it is typed.",
    },
    {.option = NULL},
};

static const struct setting schedule_options[] = {
    {
        OWN_ROW,
        .option = "init",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_init),
        .help = "create what is missing in the store first, as init does",
    },
    {.option = NULL},
};

static const struct setting status_options[] = {
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

static const struct setting history_options[] = {
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

static const struct setting release_options[] = {
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

static const struct setting purge_options[] = {
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

static const struct setting init_options[] = {
    {
        OWN_ROW,
        .option = "print-sql",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_print_sql),
        .help = "print the statements and grants instead",
    },
    {.option = NULL},
};

static const struct setting check_options[] = {
    {
        OWN_ROW,
        .option = "connect",
        .type = SETTING_SWITCH,
        .offset = MEMBER(is_connect),
        .help = "ask the store too: schema, rights, what to know of it",
    },
    {.option = NULL},
};

static const struct setting next_options[] = {
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

static const struct setting import_options[] = {
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

static const struct setting help_options[] = {
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

const struct cli_command cli_commands[] = {
    {
        .name = "run",
        .synopsis = "[options] KEY -- COMMAND [ARG...] | [options] JOB",
        .help = "run a command while holding the lease of KEY, or a job of the table",
        .manual = "The command has leaserun's descriptors, terminal, environment and folder, and "
                  "leaserun exits as it does. When another holds the lease, the command is not run "
                  "here. When the lease is lost, the command is ended before another may start. "
                  "Without a "
                  "command, JOB of the table is run now, whatever its schedule, with its key, "
                  "limits, user and environment.",
        .groups = USES_STORE | SETTING_MASK(SETTING_LOG) | SETTING_OF_RUN,
        .own = run_options,
        .operands_least = 1,
        .operands_most = 1,
        .takes_argv = true,
        .reads_config = true,
        .uses_store = true,
        .keeps_signals = true,
        .perform = cmd_run,
    },
    {
        .name = "schedule",
        .synopsis = "[options] [FILE | FOLDER...]",
        .help = "keep a job table: start each slot of each job once",
        .manual = "It stays in the foreground. Of any number of schedulers with one table and one "
                  "store, one starts a slot. SIGHUP reads the table again; SIGTERM and SIGINT end "
                  "the commands and then leaserun, with exit status 0.",
        .groups = USES_STORE | SETTING_MASK(SETTING_LOG),
        .own = schedule_options,
        .operands_most = -1,
        .keeps_signals = true,
        .perform = cmd_schedule,
    },
    {
        .name = "status",
        .synopsis = "[options] [KEY]",
        .help = "who holds which lease, and for how long",
        .manual = "Keys that were released or have expired are listed too, until they are purged.",
        .groups = USES_STORE,
        .own = status_options,
        .operands_most = 1,
        .reads_config = true,
        .uses_store = true,
        .perform = cmd_status,
    },
    {
        .name = "history",
        .synopsis = "[options] [KEY | JOB] [FILE...]",
        .help = "past runs and how they ended, newest first",
        .groups = USES_STORE,
        .own = history_options,
        .operands_most = -1,
        .reads_config = true,
        .uses_store = true,
        .perform = cmd_history,
    },
    {
        .name = "release",
        .synopsis = "[options] KEY",
        .help = "give back a lease by hand",
        .manual = "A live lease is left alone without --stop; the exit status is then 75.",
        .groups = USES_STORE,
        .own = release_options,
        .operands_least = 1,
        .operands_most = 1,
        .reads_config = true,
        .uses_store = true,
        .perform = cmd_release,
    },
    {
        .name = "purge",
        .synopsis = "[options]",
        .help = "delete what is old",
        .groups = USES_STORE,
        .own = purge_options,
        .reads_config = true,
        .uses_store = true,
        .perform = cmd_purge,
    },
    {
        .name = "init",
        .synopsis = "[options]",
        .help = "create the tables in PostgreSQL",
        .manual = "It creates what is missing and alters nothing, so that it may be repeated. An "
                  "SQLite file needs no init.",
        .groups = USES_STORE,
        .own = init_options,
        .reads_config = true,
        .uses_store = true,
        .perform = cmd_init,
    },
    {
        .name = "check",
        .synopsis = "[options] [FILE | FOLDER...]",
        .help = "find every fault of leaserun.ini and its jobs, and tell what holds",
        .groups = USES_STORE,
        .own = check_options,
        .operands_most = -1,
        .perform = cmd_check,
    },
    {
        .name = "next",
        .synopsis = "[options] [JOB]",
        .help = "when a job of the table, each of them, or a schedule is due",
        .manual = "A schedule that has no slot has the word never, once or reboot in its place.",
        .groups = SETTING_MASK(SETTING_FILE),
        .own = next_options,
        .operands_most = 1,
        .perform = cmd_next,
    },
    {
        .name = "import",
        .synopsis = "[options] [FILE | -]",
        .help = "print the job table of a crontab",
        .manual = "Variables and % become settings and commands that do the same. Each line is "
                  "accounted for: one that cannot be said is told on stderr and stands as a "
                  "comment in its place, and the exit status is 78.",
        .own = import_options,
        .operands_most = 1,
        .perform = cmd_import,
    },
    {
        .name = "help",
        .synopsis = "[COMMAND | events | exit | settings]",
        .help = "this help, or that of one command or subject",
        .own = help_options,
        .operands_most = 1,
        .perform = cmd_help,
    },
    {.name = NULL},
};

const struct cli_command *commands_find(const char *name)
{
    for (const struct cli_command *command = cli_commands; command->name != NULL; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

/* For the guard the store comes by descriptor, and no file may stand in the way. */
static bool is_for_guard(const struct options *options)
{
    return options->store_fd >= 0;
}

static void give_signals_back(void)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int perform(struct invocation *invocation)
{
    struct error error;
    struct options *options = &invocation->options;
    const struct cli_command *command = options->command;
    if (options->is_version_wanted)
        return help_print_version();
    if (options->is_help_wanted)
        return help_print(command);
    /* Before anything else that needs one says so in its own words. */
    if (command->uses_store && !is_for_guard(options) && !fds_need_room(&error))
        return say_error(&error);
    if (command->reads_config && !is_for_guard(options)) {
        int code = command->takes_argv ? settle_run(invocation) : settle(options);
        if (code != 0)
            return code;
    }
    if (command->uses_store && !is_for_guard(options) &&
        !store_choice_make(&options->config, &invocation->store, NULL, &error))
        return say_error(&error);
    if (!command->keeps_signals && !is_for_guard(options))
        give_signals_back();
    return command->perform(invocation);
}

int commands_main(int argc, char **argv, struct invocation *invocation)
{
    struct error error;
    int code = 0;
    if (argc < 2) {
        help_print_usage(stderr);
        code = EXIT_USAGE_ERROR;
    } else if (!options_parse(argc, argv, &invocation->options, &error)) {
        code = say_error(&error);
    } else {
        code = perform(invocation);
    }
    store_config_done(&invocation->store);
    job_table_done(&invocation->table);
    if (argc >= 2)
        options_done(&invocation->options);
    return say_flushed(code);
}
