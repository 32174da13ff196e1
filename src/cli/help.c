/* SPDX-License-Identifier: ISC */
#include "cli/help.h"

#include "base/exit_code.h"
#include "base/mem.h"
#include "cli/version.h"
#include "cli/wrap.h"
#include "conf/config.h"
#include "log/event.h"

#include <string.h>

#define OPTION_COLUMN 30
#define NAME_COLUMN   18

static const char *const group_titles[SETTING_GROUP_COUNT] = {
    [SETTING_FILE] = "Configuration",
    [SETTING_STORE] = "Store",
    [SETTING_LOG] = "Log",
    [SETTING_JOB] = "The run",
};

static void print_option(const struct setting *setting)
{
    TEXT_AUTODONE struct text name = TEXT_INIT;
    TEXT_AUTODONE struct text about = TEXT_INIT;
    TEXT_AUTODONE struct text details = TEXT_INIT;
    text_addf(&name, "--%s", setting->option);
    if (setting->argument != NULL)
        text_addf(&name, " %s", setting->argument);
    settings_describe(setting, &details);
    text_add(&about, setting->help);
    if (details.length > 0)
        text_addf(&about, " (%s)", text_string(&details));
    wrap_print(2, text_string(&name), OPTION_COLUMN, text_string(&about));
}

static void print_group(const struct cli_command *command, enum setting_group group)
{
    bool is_titled = false;
    if ((command->groups & SETTING_MASK(group)) == 0)
        return;
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings[i];
        if (setting->group != group || setting->option == NULL || setting->is_hidden)
            continue;
        if (!is_titled)
            printf("\n%s:\n", group_titles[group]);
        is_titled = true;
        print_option(setting);
    }
}

static void print_own(const struct cli_command *command)
{
    bool is_titled = false;
    for (const struct setting *own = command->own; own != NULL && own->option != NULL; own++) {
        if (own->is_hidden)
            continue;
        if (!is_titled)
            printf("\nOptions:\n");
        is_titled = true;
        print_option(own);
    }
}

static int print_command(const struct cli_command *command)
{
    printf("usage: leaserun %s %s\n\n", command->name, command->synopsis);
    TEXT_AUTODONE struct text about = TEXT_INIT;
    text_addf(&about, "%c%s.", command->help[0] - 'a' + 'A', command->help + 1);
    if (command->manual != NULL)
        text_addf(&about, " %s", command->manual);
    wrap_print(0, "", 0, text_string(&about));
    print_own(command);
    print_group(command, SETTING_JOB);
    print_group(command, SETTING_STORE);
    print_group(command, SETTING_LOG);
    print_group(command, SETTING_FILE);
    return 0;
}

void help_print_usage(FILE *file)
{
    fputs("usage: leaserun run [options] KEY -- COMMAND [ARG...]\n"
          "       leaserun COMMAND [options] ...\n"
          "See leaserun help.\n",
          file);
}

int help_print(const struct cli_command *command)
{
    if (command != NULL)
        return print_command(command);
    puts("usage: leaserun run [options] KEY -- COMMAND [ARG...]\n"
         "       leaserun COMMAND [options] ...\n\n"
         "Runs a command while it holds a lease, so that of all the hosts that could run\n"
         "it one does.\n\nCommands:");
    for (const struct cli_command *row = cli_commands; row->name != NULL; row++)
        wrap_print(2, row->name, 12, row->help);
    puts("\nleaserun help COMMAND shows its options. leaserun help settings shows what\n"
         "leaserun.ini may hold, help events what the log may say, help exit the exit\n"
         "statuses.\n\n"
         "The store is named by --store, LEASERUN_STORE, LEASERUN_STORE_FILE or\n"
         "leaserun.ini; --local keeps leases on this host alone.");
    return 0;
}

int help_print_version(void)
{
    puts("leaserun " VERSION);
    return 0;
}

int help_print_events(void)
{
    for (int i = 0; i < EVENT_COUNT; i++) {
        TEXT_AUTODONE struct text about = TEXT_INIT;
        text_addf(&about, "%s: %s", level_name(events[i].level), events[i].when);
        if (events[i].fields[0] != '\0')
            text_addf(&about, " [%s]", events[i].fields);
        wrap_print(0, events[i].name, NAME_COLUMN, text_string(&about));
    }
    return 0;
}

int help_print_exit_codes(void)
{
    for (const struct exit_code_row *row = exit_codes; row->number != NULL; row++)
        wrap_print(0, row->number, 8, row->meaning);
    return 0;
}

static void print_key(const struct setting *setting)
{
    TEXT_AUTODONE struct text about = TEXT_INIT;
    TEXT_AUTODONE struct text details = TEXT_INIT;
    settings_describe(setting, &details);
    text_add(&about, setting->help);
    if (details.length > 0)
        text_addf(&about, " (%s)", text_string(&details));
    if (setting->manual != NULL)
        text_addf(&about, ". %s", setting->manual);
    wrap_print(2, setting->key, NAME_COLUMN, text_string(&about));
}

int help_print_settings(void)
{
    const char *gap = "";
    for (int group = 0; group < SETTING_GROUP_COUNT; group++) {
        const char *section = settings_section((enum setting_group)group);
        if (section == NULL)
            continue;
        printf("%s[%s]\n", gap, section);
        gap = "\n";
        wrap_print(0, "", 2, settings_section_about((enum setting_group)group));
        for (size_t i = 0; i < settings_count; i++)
            if (settings[i].group == (enum setting_group)group && settings[i].key != NULL)
                print_key(&settings[i]);
    }
    return 0;
}

static void print_commented(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t length = left;
        if (length > 76)
            for (length = 76; length > 0 && text[length] != ' '; length--)
                ;
        printf("# %.*s\n", (int)length, text);
        text += length;
        text += *text == ' ';
        left = strlen(text);
    }
}

static void print_sample_key(const struct setting *setting)
{
    TEXT_AUTODONE struct text about = TEXT_INIT;
    text_addf(&about, "%c%s.", setting->help[0] - 'a' + 'A', setting->help + 1);
    if (setting->manual != NULL)
        text_addf(&about, " %s", setting->manual);
    putchar('\n');
    print_commented(text_string(&about));
    printf("#%s = %s\n", setting->key,
           setting->initial != NULL ? setting->initial : setting->example);
}

int help_print_sample(void)
{
    puts("# " CONFIG_PATH ": what leaserun does unless its options say\n"
         "# otherwise. leaserun check finds faults in it; leaserun.ini(5) explains it.\n"
         "# A comment has a line of its own. Values are not quoted.");
    for (int group = 0; group < SETTING_GROUP_COUNT; group++) {
        const char *section = settings_section((enum setting_group)group);
        if (section == NULL)
            continue;
        putchar('\n');
        print_commented(settings_section_about((enum setting_group)group));
        printf("[%s]\n", section);
        for (size_t i = 0; i < settings_count; i++)
            if (settings[i].group == (enum setting_group)group && settings[i].key != NULL)
                print_sample_key(&settings[i]);
    }
    return 0;
}
