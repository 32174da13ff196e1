/* SPDX-License-Identifier: ISC */
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/help_mdoc.h"
#include "cli/say.h"
#include "conf/suggest.h"

#include <string.h>

static const struct topic {
    const char *name;
    int (*print)(void);
} topics[] = {
    {"events", help_print_events},
    {"exit", help_print_exit_codes},
    {"settings", help_print_settings},
};
#define TOPIC_COUNT (sizeof topics / sizeof topics[0])

static int refuse_topic(const char *name)
{
    struct error error;
    const char *nearest = NULL;
    for (size_t i = 0; i < TOPIC_COUNT; i++)
        nearest = suggest_nearer(name, nearest, topics[i].name);
    for (const struct cli_command *command = cli_commands; command->name != NULL; command++)
        nearest = suggest_nearer(name, nearest, command->name);
    error_set(&error, ERROR_USAGE, "there is no help on \"%s\"%s", name,
              nearest == NULL ? ": leaserun help lists the commands and other subjects" : "");
    suggest_add(&error, nearest, "");
    return say_error(&error);
}

static int print_topic(const char *name)
{
    const struct cli_command *command = commands_find(name);
    if (command != NULL)
        return help_print(command);
    for (size_t i = 0; i < TOPIC_COUNT; i++)
        if (strcmp(topics[i].name, name) == 0)
            return topics[i].print();
    return refuse_topic(name);
}

int cmd_help(struct invocation *invocation)
{
    struct error error;
    const struct options *options = &invocation->options;
    if (options->is_sample)
        return help_print_sample();
    if (options->mdoc != NULL && help_mdoc_print(options->mdoc))
        return 0;
    if (options->mdoc != NULL) {
        error_set(&error, ERROR_USAGE, "the manual has no part \"%s\"", options->mdoc);
        return say_error(&error);
    }
    return options->operand_count > 0 ? print_topic(options->operands[0]) : help_print(NULL);
}
