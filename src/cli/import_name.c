/* SPDX-License-Identifier: ISC */
#include "cli/import_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define BLANKS    " \t"
#define SEPARATES ";&|()<>{}`\"'"

struct word {
    const char *at;
    size_t length;
};

/* Run something else, which is the better name. */
static const char *const wrappers[] = {
    "bash",      "chronic", "command", "dash", "env",  "exec",    "ionice",  "java",
    "nice",      "node",    "nohup",   "perl", "php",  "python",  "python3", "ruby",
    "run-parts", "setsid",  "sh",      "sudo", "time", "timeout", "zsh",     NULL};

/* Have an argument of their own, which is none. */
static const char *const leaders[] = {".", "cd", "export", "flock", "sleep", "source", NULL};

static const char *const endings[] = {".sh", ".py", ".php", ".pl", ".rb", ".js", ".bash", NULL};

/* Moves *at behind the word that it returns; its length is 0 at the end. */
static struct word next_word(const char **at)
{
    *at += strspn(*at, BLANKS SEPARATES);
    struct word word = {*at, strcspn(*at, BLANKS SEPARATES)};
    *at += word.length;
    return word;
}

static struct word base_of(struct word word)
{
    for (size_t i = word.length; i > 0; i--)
        if (word.at[i - 1] == '/' && i < word.length)
            return (struct word){word.at + i, word.length - i};
    return word;
}

static bool is_one_of(struct word word, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strlen(*names) == word.length && strncmp(word.at, *names, word.length) == 0)
            return true;
    return false;
}

/* An option, a number or duration, NAME=VALUE, a variable. */
static bool is_no_name(struct word word)
{
    return strchr("-+0123456789$", word.at[0]) != NULL || memchr(word.at, '=', word.length) != NULL;
}

static const char *behind_test(const char *at)
{
    const char *both = strstr(at, "&&"), *either = strstr(at, "||");
    const char *first = both == NULL || (either != NULL && either < both) ? either : both;
    return first == NULL ? at + strlen(at) : first;
}

/* The program's name or script; of wrappers alone the last of them. */
static struct word find_program(const char *command)
{
    struct word found = {"job", 3};
    const char *at = command;
    for (struct word word = next_word(&at); word.length > 0; word = next_word(&at)) {
        struct word base = base_of(word);
        if ((word.length == 1 && word.at[0] == '[') ||
            is_one_of(word, (const char *[]){"test", NULL}))
            at = behind_test(at);
        else if (is_one_of(base, leaders))
            next_word(&at);
        else if (is_one_of(base, wrappers))
            found = base;
        else if (!is_no_name(word))
            return base;
    }
    return found;
}

static size_t without_ending(struct word word)
{
    for (const char *const *ending = endings; *ending != NULL; ending++) {
        size_t length = strlen(*ending);
        if (word.length > length &&
            strncasecmp(word.at + word.length - length, *ending, length) == 0)
            return word.length - length;
    }
    return word.length;
}

const char *import_name_of(const char *command, char ret_name[IMPORT_NAME_MAX])
{
    struct word program = find_program(command);
    size_t length = without_ending(program), used = 0;
    for (size_t i = 0; i < length && used < IMPORT_NAME_MAX - 1; i++) {
        char c = program.at[i];
        if (isalnum((unsigned char)c) || c == '_')
            ret_name[used++] = (char)tolower((unsigned char)c);
        else if (used > 0 && ret_name[used - 1] != '-')
            ret_name[used++] = '-';
    }
    while (used > 0 && ret_name[used - 1] == '-')
        used--;
    ret_name[used] = '\0';
    return used > 0 ? ret_name : strcpy(ret_name, "job");
}
