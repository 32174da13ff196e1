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

static void print_option(const struct setting *setting)
{
    TEXT_AUTODONE struct text name = TEXT_INIT;
    TEXT_AUTODONE struct text about = TEXT_INIT;
    TEXT_AUTODONE struct text details = TEXT_INIT;
    text_addf(&name, "--%s", setting->option);
    if (setting->argument != NULL)
        text_addf(&name, " %s", setting->argument);
    if (setting->letter != '\0')
        text_addf(&name, ", -%c", setting->letter);
    settings_describe(setting, &details);
    text_add(&about, setting->help);
    if (details.length > 0)
        text_addf(&about, " (%s)", text_string(&details));
    wrap_print(2, text_string(&name), OPTION_COLUMN, text_string(&about));
}

static void print_groups(const struct cli_command *command, unsigned groups, const char *title)
{
    bool is_titled = false;
    const struct setting *setting = NULL;
    while ((setting = settings_next(setting)) != NULL) {
        if ((command->groups & groups & SETTING_MASK(setting->group)) == 0 ||
            setting->option == NULL || setting->is_hidden)
            continue;
        if (!is_titled)
            printf("\n%s:\n", title);
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
    print_groups(command, SETTING_OF_RUN, "The run");
    print_groups(command, SETTING_MASK(SETTING_STORE), "Store");
    print_groups(command, SETTING_MASK(SETTING_LOG), "Log");
    print_groups(command, SETTING_MASK(SETTING_FILE), "Configuration");
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

/* Calls print for each key that the section tells of. */
static void each_key(const struct setting_section *section, void (*print)(const struct setting *))
{
    const struct setting *setting = NULL;
    while ((setting = settings_next(setting)) != NULL)
        if (setting->key != NULL && (section->told & SETTING_MASK(setting->group)) != 0)
            print(setting);
}

int help_print_settings(void)
{
    for (const struct setting_section *section = settings_sections; section->name; section++) {
        printf("%s[%s]\n", section == settings_sections ? "" : "\n", section->title);
        wrap_print(0, "", 2, section->about);
        each_key(section, print_key);
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
    for (const struct setting_section *section = settings_sections; section->name; section++) {
        putchar('\n');
        print_commented(section->about);
        printf(section->example == NULL ? "[%s]\n" : "#[%s]\n",
               section->example == NULL ? section->name : section->example);
        each_key(section, print_sample_key);
    }
    return 0;
}
