/* SPDX-License-Identifier: ISC */
#include "cli/commands.h"

#include "base/exit_code.h"
#include "cli/command_options.h"
#include "cli/help.h"
#include "cli/say.h"
#include "cli/settle.h"
#include "conf/store_choice.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define USES_STORE (SETTING_MASK(SETTING_FILE) | SETTING_MASK(SETTING_STORE))

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
        .own = command_options_run,
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
        .own = command_options_schedule,
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
        .own = command_options_status,
        .operands_most = 1,
        .reads_config = true,
        .uses_store = true,
        .perform = cmd_status,
    },
    {
        .name = "history",
        .synopsis = "[options] [KEY | JOB | RUN] [FILE...]",
        .help = "past runs and how they ended, newest first",
        .groups = USES_STORE,
        .own = command_options_history,
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
        .own = command_options_release,
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
        .own = command_options_purge,
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
        .own = command_options_init,
        .reads_config = true,
        .uses_store = true,
        .perform = cmd_init,
    },
    {
        .name = "check",
        .synopsis = "[options] [FILE | FOLDER...]",
        .help = "find every fault of leaserun.ini and its jobs, and tell what holds",
        .groups = USES_STORE,
        .own = command_options_check,
        .operands_most = -1,
        .perform = cmd_check,
    },
    {
        .name = "next",
        .synopsis = "[options] [JOB]",
        .help = "when a job of the table, each of them, or a schedule is due",
        .manual = "A schedule that has no slot has the word never, once or reboot in its place.",
        .groups = SETTING_MASK(SETTING_FILE),
        .own = command_options_next,
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
        .own = command_options_import,
        .operands_most = 1,
        .perform = cmd_import,
    },
    {
        .name = "help",
        .synopsis = "[COMMAND | events | exit | settings]",
        .help = "this help, or that of one command or subject",
        .own = command_options_help,
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
