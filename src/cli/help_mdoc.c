/* SPDX-License-Identifier: ISC */
#include "cli/help_mdoc.h"

#include "base/exit_code.h"
#include "base/text.h"
#include "cli/commands.h"
#include "conf/settings.h"
#include "log/event.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LINE_MOST 76

static bool is_sentence_end(const char *word, size_t length)
{
    char last = length == 0 ? ' ' : word[length - 1];
    return (last == '.' || last == '?') && word[length] == ' ' &&
           isupper((unsigned char)word[length + 1]);
}

/* "--" is two minus signs, and a control character of roff may not begin a line. */
static void print_word(const char *word, size_t length)
{
    if (*word == '.' || *word == '\'')
        fputs("\\&", stdout);
    for (size_t i = 0; i < length; i++) {
        bool is_dash = word[i] == '-' && (word[i + 1] == '-' || (i > 0 && word[i - 1] == '-'));
        if (word[i] == '\\')
            fputs("\\e", stdout);
        else if (is_dash)
            fputs("\\-", stdout);
        else
            putchar(word[i]);
    }
}

/* Prose: each sentence begins a line, and no line is long. The first line has begun already when
 * used is not 0. */
static void print_prose(const char *text, size_t used)
{
    bool is_first = true;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        bool is_break = used + length > LINE_MOST;
        if (!is_first)
            putchar(is_break || used == 0 ? '\n' : ' ');
        used = (is_break && !is_first ? 0 : used) + length + 1;
        print_word(text, length);
        is_first = false;
        if (is_sentence_end(text, length))
            used = 0;
        text += length + strspn(text + length, " ");
    }
}

/* A sentence made of a clause. */
static void print_clause(const char *clause, const char *manual)
{
    putchar(toupper((unsigned char)*clause));
    print_prose(clause + 1, 1);
    puts(".");
    if (manual != NULL) {
        print_prose(manual, 0);
        putchar('\n');
    }
}

static void print_details(const struct setting *setting)
{
    TEXT_AUTODONE struct text details = TEXT_INIT;
    settings_describe(setting, &details);
    if (details.length == 0)
        return;
    putchar('(');
    print_prose(text_string(&details), 1);
    puts(")");
}

static void print_option(const struct setting *setting)
{
    printf(".It Fl -%s", setting->option);
    if (setting->argument != NULL)
        printf(" Ar %s", setting->argument);
    if (setting->letter != '\0')
        printf(" , Fl %c", setting->letter);
    putchar('\n');
    print_clause(setting->help, setting->manual);
    print_details(setting);
}

static void print_options_of(unsigned groups, const char *title)
{
    const struct setting *setting = NULL;
    printf(".Ss %s\n.Bl -tag -width Ds\n", title);
    while ((setting = settings_next(setting)) != NULL)
        if ((groups & SETTING_MASK(setting->group)) != 0 && setting->option != NULL &&
            !setting->is_hidden)
            print_option(setting);
    puts(".El");
}

static void print_options(void)
{
    print_options_of(SETTING_OF_RUN, "Options of the run");
    print_options_of(SETTING_MASK(SETTING_STORE), "Options that name the store");
    print_options_of(SETTING_MASK(SETTING_LOG), "Options of the log");
    print_options_of(SETTING_MASK(SETTING_FILE), "Other options");
}

static void print_key(const struct setting *setting)
{
    printf(".It Ic %s No = Ar %s\n", setting->key,
           setting->argument == NULL ? "yes | no" : setting->argument);
    print_clause(setting->help, setting->manual);
    print_details(setting);
}

static void print_settings(void)
{
    for (const struct setting_section *section = settings_sections; section->name; section++) {
        const struct setting *setting = NULL;
        printf(".Ss [%s]\\&\n", section->title);
        print_prose(section->about, 0);
        puts("\n.Bl -tag -width Ds");
        while ((setting = settings_next(setting)) != NULL)
            if (setting->key != NULL && (section->told & SETTING_MASK(setting->group)) != 0)
                print_key(setting);
        puts(".El");
    }
}

static const char *macro_of(const char *word, size_t length)
{
    if (*word == '|')
        return "";
    bool is_argument = isupper((unsigned char)*word) || strncmp(word, "options", length) == 0;
    return is_argument ? "Ar " : "Cm ";
}

/* "[options] KEY -- COMMAND [ARG...]" word by word: brackets group, capitals are arguments. */
static void print_synopsis(const char *synopsis)
{
    while (*synopsis != '\0') {
        size_t length = strcspn(synopsis, " []");
        if (length == 0) {
            fputs(*synopsis == '[' ? " Oo" : *synopsis == ']' ? " Oc" : "", stdout);
            synopsis++;
            continue;
        }
        if (length == 2 && strncmp(synopsis, "--", length) == 0)
            fputs(" Fl -", stdout);
        else
            printf(" %s%.*s", macro_of(synopsis, length), (int)length, synopsis);
        synopsis += length;
    }
    putchar('\n');
}

static bool has_shown_options(const struct setting *own)
{
    for (; own != NULL && own->option != NULL; own++)
        if (!own->is_hidden)
            return true;
    return false;
}

static void print_commands(void)
{
    puts(".Bl -tag -width Ds");
    for (const struct cli_command *command = cli_commands; command->name != NULL; command++) {
        printf(".It Cm %s", command->name);
        print_synopsis(command->synopsis);
        print_clause(command->help, command->manual);
        if (!has_shown_options(command->own))
            continue;
        puts(".Bl -tag -width Ds");
        for (const struct setting *own = command->own; own->option != NULL; own++)
            if (!own->is_hidden)
                print_option(own);
        puts(".El");
    }
    puts(".El");
}

static void print_events(void)
{
    puts(".Bl -tag -width Ds");
    for (int i = 0; i < EVENT_COUNT; i++) {
        printf(".It Cm %s Pq %s\n", events[i].name, level_name(events[i].level));
        print_clause(events[i].when, NULL);
        if (events[i].fields[0] != '\0')
            printf("Fields: %s.\n", events[i].fields);
    }
    puts(".El");
}

static void print_exit_status(void)
{
    puts(".Bl -tag -width Ds");
    for (const struct exit_code_row *row = exit_codes; row->number != NULL; row++) {
        printf(".It %s\n", row->number);
        print_clause(row->meaning, NULL);
    }
    puts(".El");
}

static const struct part {
    const char *name;
    void (*print)(void);
} parts[] = {
    {"options", print_options}, {"settings", print_settings},       {"commands", print_commands},
    {"events", print_events},   {"exit-status", print_exit_status},
};

bool help_mdoc_print(const char *part)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(parts[i].name, part) == 0)
            return parts[i].print(), true;
    return false;
}
