/* SPDX-License-Identifier: ISC */
#include "cron/crontab_fields.h"

#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define BLANKS      " \t"
#define FIELDS_MAX  7
#define DAY_AT      2 /* of five fields */
#define WEEKDAY_AT  4
#define FIELD_CHARS "0123456789*,/-?#LW"

struct word {
    const char *at;
    size_t length;
};

/* The words at the start of the text; returns how many there are, up to FIELDS_MAX. */
static size_t split(const char *text, struct word words[FIELDS_MAX])
{
    size_t count = 0;
    for (text += strspn(text, BLANKS); *text != '\0' && count < FIELDS_MAX; count++) {
        words[count] = (struct word){text, strcspn(text, BLANKS)};
        text += words[count].length;
        text += strspn(text, BLANKS);
    }
    return count;
}

static void add_word(struct text *schedule, struct word word)
{
    if (schedule->length > 0)
        text_add_char(schedule, ' ');
    text_add_bytes(schedule, word.at, word.length);
}

static char *join(const struct word words[], size_t count, const char **rest)
{
    struct text schedule = TEXT_INIT;
    for (size_t i = 0; i < count; i++)
        add_word(&schedule, words[i]);
    *rest = words[count - 1].at + words[count - 1].length;
    return text_detach(&schedule);
}

char *crontab_fields_of_cron(const char **rest)
{
    struct word words[FIELDS_MAX];
    size_t count = split(*rest, words);
    if (count > 0 && words[0].at[0] == '@')
        return join(words, 1, rest);
    return count < 5 ? NULL : join(words, 5, rest);
}

/* ---- supercronic ---- */

static bool is_name(const char *at)
{
    static const char names[] = "jan feb mar apr may jun jul aug sep oct nov dec "
                                "sun mon tue wed thu fri sat ";
    for (const char *name = names; *name != '\0'; name += 4)
        if (strncasecmp(at, name, 3) == 0)
            return true;
    return false;
}

/* Digits, marks and names alone: what a command's first word hardly is. */
static bool looks_like_field(struct word word)
{
    for (size_t i = 0; i < word.length; i++)
        if (word.length - i >= 3 && is_name(word.at + i))
            i += 2;
        else if (strchr(FIELD_CHARS, toupper((unsigned char)word.at[i])) == NULL)
            return false;
    return true;
}

/* "*", "*" with a step, "2030", "2024-2026,2030" */
static bool looks_like_years(struct word word)
{
    if (word.at[0] == '*')
        return word.length == 1 || word.at[1] == '/';
    size_t digits = strspn(word.at, "0123456789");
    return digits == 4 && strspn(word.at, "0123456789,-/") >= word.length;
}

/* How many of the words are the schedule's. */
static size_t count_fields(const struct word words[], size_t word_count)
{
    size_t fields = 0;
    while (fields < word_count && looks_like_field(words[fields]))
        fields++;
    if (fields == 7 && looks_like_years(words[6]))
        return 7;
    if (fields >= 6 && looks_like_years(words[5]))
        return 6;
    return 5;
}

/* A day field with a star and a step as a range; others as they are. */
static void add_restricted(struct text *schedule, struct word word, const char *range)
{
    if (word.length > 2 && word.at[0] == '*' && word.at[1] == '/') {
        text_addf(schedule, " %s%.*s", range, (int)word.length - 1, word.at + 1);
        return;
    }
    add_word(schedule, word);
}

static bool is_star(struct word word)
{
    return word.length == 1 && (word.at[0] == '*' || word.at[0] == '?');
}

/* From the first word on; the five usual fields are the last ones. */
static char *join_fields(const struct word words[], size_t count)
{
    struct text schedule = TEXT_INIT;
    const struct word *five = words + count - 5;
    bool is_either = !is_star(five[DAY_AT]) && !is_star(five[WEEKDAY_AT]);
    for (const struct word *word = words; word < words + count; word++)
        if (is_either && word == five + DAY_AT)
            add_restricted(&schedule, *word, "1-31");
        else if (is_either && word == five + WEEKDAY_AT)
            add_restricted(&schedule, *word, "0-6");
        else
            add_word(&schedule, *word);
    return text_detach(&schedule);
}

char *crontab_fields_of_supercronic(const char **rest, struct error *err)
{
    struct word words[FIELDS_MAX];
    size_t word_count = split(*rest, words);
    if (word_count > 0 && words[0].at[0] == '@') {
        bool is_every = words[0].length == 6 && strncmp(words[0].at, "@every", 6) == 0;
        return join(words, is_every && word_count > 1 ? 2 : 1, rest);
    }
    if (word_count < 5)
        return error_set(err, ERROR_CONFIG, "it is neither schedule and command nor NAME=VALUE"),
               NULL;
    size_t fields = count_fields(words, word_count);
    struct word years = words[fields - 1];
    if (fields > 5 && !is_star(years))
        return error_set(err, ERROR_CONFIG, "a schedule has no field for years (\"%.*s\")",
                         (int)(years.length > 40 ? 40 : years.length), years.at),
               NULL;
    *rest = years.at + years.length;
    return join_fields(words, fields > 5 ? fields - 1 : fields);
}
