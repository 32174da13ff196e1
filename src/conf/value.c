/* SPDX-License-Identifier: ISC */
#include "conf/value.h"

#include "base/text.h"
#include "conf/suggest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    int64_t size;
};

/* Largest first, which is also the order within a value. */
static const struct unit duration_units[] = {
    {"w", 604800000}, {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};
static const struct unit size_units[] = {
    {"GiB", 1 << 30}, {"G", 1 << 30}, {"MiB", 1 << 20}, {"M", 1 << 20},
    {"KiB", 1 << 10}, {"K", 1 << 10}, {"B", 1},         {"", 1},
};
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits at *at and moves it behind them. False when the number does not fit. */
static bool read_digits(const char **at, int64_t *ret_number)
{
    int64_t number = 0;
    for (; is_digit(**at); (*at)++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, **at - '0', &number))
            return false;
    }
    *ret_number = number;
    return true;
}

static bool refuse_shape(const char *text, struct error *err)
{
    if (*text == '\0')
        return error_set(err, ERROR_USAGE, "the value is empty: write a duration such as 90s");
    if (*text == '-')
        return error_set(err, ERROR_USAGE, "\"%s\" is negative: a duration is not", text);
    return error_set(err, ERROR_USAGE,
                     "\"%s\" is no duration: write whole numbers with units ms, s, m, h, d or w, "
                     "larger ones first, such as 90s or \"1h 30m\"",
                     text);
}

static bool refuse_length(const char *text, struct error *err)
{
    return error_set(err, ERROR_USAGE,
                     "\"%s\" is too long a duration: the longest possible is 5200w", text);
}

/* The unit at *at, which must come behind *next in the table; NULL when there is none. */
static const struct unit *read_unit(const char **at, size_t *next)
{
    size_t length = 0;
    while ((*at)[length] >= 'a' && (*at)[length] <= 'z')
        length++;
    for (size_t i = *next; i < COUNT_OF(duration_units); i++) {
        const char *name = duration_units[i].name;
        if (strlen(name) == length && strncmp(name, *at, length) == 0) {
            *at += length;
            *next = i + 1;
            return &duration_units[i];
        }
    }
    return NULL;
}

bool value_parse_duration(const char *text, int64_t *ret_ms, struct error *err)
{
    int64_t sum = 0;
    const char *at = text;
    size_t next = 0;
    if (strcmp(text, "0") == 0)
        return *ret_ms = 0, true;
    if (!is_digit(*at))
        return refuse_shape(text, err);
    while (*at != '\0') {
        int64_t number;
        if (!is_digit(*at))
            return refuse_shape(text, err);
        if (!read_digits(&at, &number))
            return refuse_length(text, err);
        if (*at == '\0')
            return error_set(err, ERROR_USAGE,
                             "\"%s\" has no unit: write %" PRId64 "s for seconds or %" PRId64
                             "m for minutes",
                             text, number, number);
        const struct unit *unit = read_unit(&at, &next);
        if (unit == NULL)
            return refuse_shape(text, err);
        if (__builtin_mul_overflow(number, unit->size, &number) ||
            __builtin_add_overflow(sum, number, &sum) || sum > VALUE_DURATION_MAX_MS)
            return refuse_length(text, err);
        if (*at == ' ' && is_digit(at[1]))
            at++;
    }
    *ret_ms = sum;
    return true;
}

const char *value_format_duration(int64_t ms, char ret_text[VALUE_TEXT_MAX])
{
    int used = 0;
    if (ms <= 0)
        return snprintf(ret_text, VALUE_TEXT_MAX, "0"), ret_text;
    for (size_t i = 0; i < COUNT_OF(duration_units); i++) {
        const struct unit *unit = &duration_units[i];
        if (ms < unit->size)
            continue;
        used += snprintf(ret_text + used, (size_t)(VALUE_TEXT_MAX - used), "%s%" PRId64 "%s",
                         used == 0 ? "" : " ", ms / unit->size, unit->name);
        ms %= unit->size;
    }
    return ret_text;
}

bool value_parse_count(const char *text, int64_t *ret_count, struct error *err)
{
    const char *at = text;
    int64_t count;
    if (*text == '\0')
        return error_set(err, ERROR_USAGE, "the value is empty: write a number");
    if (!read_digits(&at, &count))
        return error_set(err, ERROR_USAGE, "\"%s\" is too large a number", text);
    if (*at != '\0')
        return error_set(err, ERROR_USAGE, "\"%s\" is no number: write digits only", text);
    *ret_count = count;
    return true;
}

bool value_parse_size(const char *text, int64_t *ret_bytes, struct error *err)
{
    const char *at = text;
    int64_t number;
    if (!is_digit(*text))
        return error_set(err, ERROR_USAGE,
                         "\"%s\" is no size: write bytes, or a number with K, M or G", text);
    if (!read_digits(&at, &number))
        return error_set(err, ERROR_USAGE, "\"%s\" is too large a size", text);
    for (size_t i = 0; i < COUNT_OF(size_units); i++) {
        if (strcasecmp(size_units[i].name, at) != 0)
            continue;
        if (__builtin_mul_overflow(number, size_units[i].size, &number))
            return error_set(err, ERROR_USAGE, "\"%s\" is too large a size", text);
        *ret_bytes = number;
        return true;
    }
    return error_set(err, ERROR_USAGE, "\"%s\" has an unknown unit: write K, M or G", text);
}

const char *value_format_size(int64_t bytes, char ret_text[VALUE_TEXT_MAX])
{
    for (size_t i = 0; bytes > 0 && i < COUNT_OF(size_units); i++) {
        const struct unit *unit = &size_units[i];
        if (strlen(unit->name) == 1 && unit->size > 1 && bytes % unit->size == 0) {
            snprintf(ret_text, VALUE_TEXT_MAX, "%" PRId64 "%s", bytes / unit->size, unit->name);
            return ret_text;
        }
    }
    snprintf(ret_text, VALUE_TEXT_MAX, "%" PRId64, bytes);
    return ret_text;
}

bool value_parse_umask(const char *text, int *ret_mask, struct error *err)
{
    size_t length = strspn(text, "01234567");
    if (length == 0 || length > 4 || text[length] != '\0' || strtol(text, NULL, 8) > 0777)
        return error_set(err, ERROR_USAGE,
                         "\"%s\" is no file mode mask: write three octal digits, as in 022", text);
    *ret_mask = (int)strtol(text, NULL, 8);
    return true;
}

bool value_parse_switch(const char *text, bool *ret_is_on, struct error *err)
{
    static const struct value_choice words[] = {
        {"yes", 1}, {"no", 0}, {"on", 1}, {"off", 0}, {"true", 1}, {"false", 0}, {NULL, 0},
    };
    for (const struct value_choice *word = words; word->name != NULL; word++)
        if (strcmp(word->name, text) == 0)
            return *ret_is_on = word->value != 0, true;
    return error_set(err, ERROR_USAGE, "\"%s\" is neither yes nor no", text);
}

bool value_parse_choice(const char *text, const struct value_choice *choices, int *ret_value,
                        struct error *err)
{
    TEXT_AUTODONE struct text names = TEXT_INIT;
    const char *nearest = NULL;
    for (const struct value_choice *choice = choices; choice->name != NULL; choice++) {
        if (strcmp(choice->name, text) == 0)
            return *ret_value = choice->value, true;
        bool is_last = choice[1].name == NULL;
        text_addf(&names, "%s%s", choice == choices ? "" : is_last ? " or " : ", ", choice->name);
        nearest = suggest_nearer(text, nearest, choice->name);
    }
    error_set(err, ERROR_USAGE, "\"%s\" is not one of %s", text, text_string(&names));
    return suggest_add(err, nearest, "");
}
