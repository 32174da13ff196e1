/* SPDX-License-Identifier: ISC */
#include "conf/words.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Copies what stands between double quotes; *from is after the first of them, and then after the
 * last. False when there is no last. */
static bool take_double(const char **from, char **to)
{
    const char *at = *from;
    for (; *at != '"'; at++) {
        if (*at == '\\' && at[1] != '\0' && strchr("\"\\$`", at[1]) != NULL)
            at++;
        if (*at == '\0')
            return false;
        *(*to)++ = *at;
    }
    *from = at + 1;
    return true;
}

static bool take_single(const char **from, char **to)
{
    const char *end = strchr(*from, '\'');
    if (end == NULL)
        return false;
    size_t length = (size_t)(end - *from);
    memcpy(*to, *from, length);
    *to += length;
    *from = end + 1;
    return true;
}

/* Copies one word and ends it. Returns what is missing at its end, or NULL. */
static const char *take_word(const char **from, char **to)
{
    while (**from != '\0' && !is_blank(**from)) {
        char c = *(*from)++;
        if (c == '\'') {
            if (!take_single(from, to))
                return "a quote (') has no end";
        } else if (c == '"') {
            if (!take_double(from, to))
                return "a quote (\") has no end";
        } else if (c == '\\') {
            if (**from == '\0')
                return "nothing follows the backslash at the end";
            *(*to)++ = *(*from)++;
        } else {
            *(*to)++ = c;
        }
    }
    *(*to)++ = '\0';
    return NULL;
}

/* Every second character can begin a word; the texts stand behind the pointers. */
char **words_split(const char *line, size_t *ret_count, struct error *err)
{
    size_t length = strlen(line), most = length / 2 + 2, count = 0;
    char **words = mem_alloc(most * sizeof *words + length + 1);
    char *to = (char *)(words + most);
    for (;;) {
        while (is_blank(*line))
            line++;
        if (*line == '\0')
            break;
        words[count++] = to;
        const char *missing = take_word(&line, &to);
        if (missing != NULL) {
            free(words);
            error_set(err, ERROR_CONFIG, "%s", missing);
            return NULL;
        }
    }
    words[count] = NULL;
    if (ret_count != NULL)
        *ret_count = count;
    return words;
}

bool words_is_assignment(const char *word)
{
    size_t length = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && word[length] == '=' && !(word[0] >= '0' && word[0] <= '9');
}

char **words_split_assignments(const char *line, struct error *err)
{
    char **words = words_split(line, NULL, err);
    for (char **word = words; word != NULL && *word != NULL; word++) {
        if (words_is_assignment(*word))
            continue;
        error_set(err, ERROR_CONFIG, "word %d is not NAME=VALUE", (int)(word - words) + 1);
        free(words);
        return NULL;
    }
    return words;
}
