/* SPDX-License-Identifier: ISC */
/* The commands: cli_commands[] in commands.c is the one table; dispatch, help and manual read it.
 */
#pragma once
#include "cli/options.h"
#include "conf/settings.h"

struct cli_command {
    const char *name;
    const char *synopsis;              /* behind the name: "[options] KEY -- COMMAND [ARG...]" */
    const char *help;                  /* one line */
    const char *manual;                /* sentences */
    unsigned groups;                   /* SETTING_MASK(...) of the settings it takes as options */
    const struct setting *own;         /* options of its own; ends with a row without option */
    int operands_least, operands_most; /* most < 0: any number */
    bool takes_argv;    /* a command behind "--"; parsing stops at the first operand */
    bool reads_config;  /* options_settle before it */
    bool uses_store;    /* invocation.store is resolved before it */
    bool keeps_signals; /* reads them itself; the others get their default actions back */
    int (*perform)(struct invocation *invocation); /* returns the exit status */
};

extern const struct cli_command cli_commands[]; /* ends with a row without name */

const struct cli_command *commands_find(const char *name); /* NULL: there is none */

/* Parses, reads the configuration, resolves the store and performs: all of main but its frame.
 * Every fault is one line on stderr. */
int commands_main(int argc, char **argv, struct invocation *invocation);

int cmd_run(struct invocation *invocation);
int cmd_schedule(struct invocation *invocation);
int cmd_status(struct invocation *invocation);
int cmd_history(struct invocation *invocation);
int cmd_release(struct invocation *invocation);
int cmd_purge(struct invocation *invocation);
int cmd_init(struct invocation *invocation);
int cmd_check(struct invocation *invocation);
int cmd_next(struct invocation *invocation);
int cmd_import(struct invocation *invocation);
int cmd_help(struct invocation *invocation);
