/* SPDX-License-Identifier: ISC */
#include "cron/cron_field.h"

#include "cron/cron_hash.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NUMBER_MAX  1000000 /* of numbers and steps; anything above does not fit */
#define QUOTED_MAX  60      /* bytes of a field that an error repeats */
#define FAULT_MAX   256
#define NTH_MOST    5
#define NAME_LENGTH 3

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                     "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

const struct cron_range cron_ranges[CRON_FIELD_COUNT] = {
    [CRON_SECOND] = {"second", 0, 59, 59, NULL}, [CRON_MINUTE] = {"minute", 0, 59, 59, NULL},
    [CRON_HOUR] = {"hour", 0, 23, 23, NULL},     [CRON_DAY] = {"day of month", 1, 31, 31, NULL},
    [CRON_MONTH] = {"month", 1, 12, 12, months}, [CRON_WEEKDAY] = {"weekday", 0, 7, 6, weekdays},
};

/* One item of a field's list. Readers move `at`; a fault is a sentence without field and item. */
struct item {
    enum cron_field field;
    const struct cron_range *range;
    const char *at, *end;
    const char *key;
    struct cron *cron;
    char fault[FAULT_MAX];
};

static bool is_bad(struct item *item, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool is_bad(struct item *item, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(item->fault, sizeof item->fault, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- reading ---- */

static bool is_at(const struct item *item, char c)
{
    return item->at < item->end && *item->at == c;
}

static bool take(struct item *item, char c)
{
    bool is_there = item->at < item->end && toupper((unsigned char)*item->at) == c;
    item->at += is_there;
    return is_there;
}

static bool is_at_end(struct item *item)
{
    if (item->at == item->end)
        return true;
    return is_bad(item, "\"%.*s\" does not belong there", (int)(item->end - item->at), item->at);
}

static bool read_number(struct item *item, int *ret_number)
{
    const char *from = item->at;
    int number = 0;
    while (item->at < item->end && isdigit((unsigned char)*item->at)) {
        if (number < NUMBER_MAX)
            number = number * 10 + *item->at - '0';
        item->at++;
    }
    *ret_number = number;
    return item->at > from;
}

static size_t letters_at(const struct item *item)
{
    size_t count = 0;
    while (item->at + count < item->end && isalpha((unsigned char)item->at[count]))
        count++;
    return count;
}

/* A three-letter name of the range; "friL" is a name and what follows. */
static bool read_name(struct item *item, int *ret_value)
{
    size_t letters = letters_at(item);
    bool has_suffix = item->field == CRON_WEEKDAY && letters == NAME_LENGTH + 1 &&
                      toupper((unsigned char)item->at[NAME_LENGTH]) == 'L';
    for (int i = 0; item->range->names != NULL && item->range->names[i] != NULL; i++)
        if ((letters == NAME_LENGTH || has_suffix) &&
            strncasecmp(item->at, item->range->names[i], NAME_LENGTH) == 0) {
            item->at += NAME_LENGTH;
            *ret_value = item->range->least + i;
            return true;
        }
    if (item->range->names == NULL)
        return is_bad(item, "it takes numbers from %d to %d", item->range->least,
                      item->range->most);
    return is_bad(item, "\"%.*s\" is no name there: %s to %s, three letters each",
                  (int)(letters > QUOTED_MAX ? QUOTED_MAX : letters), item->at,
                  item->range->names[0],
                  item->range->names[item->range->last - item->range->least]);
}

static bool read_value(struct item *item, int *ret_value)
{
    if (letters_at(item) > 0)
        return read_name(item, ret_value);
    if (is_at(item, '@'))
        return is_bad(item, "a name with @ stands alone");
    if (!read_number(item, ret_value))
        return item->at == item->end ? is_bad(item, "a number is missing") : is_at_end(item);
    if (*ret_value < item->range->least || *ret_value > item->range->most)
        return is_bad(item, "must be %d to %d", item->range->least, item->range->most);
    return true;
}

/* ---- putting ---- */

static void put(struct cron *cron, enum cron_field field, int value)
{
    switch (field) {
    case CRON_SECOND:
        cron->seconds |= UINT64_C(1) << value;
        return;
    case CRON_MINUTE:
        cron->minutes |= UINT64_C(1) << value;
        return;
    case CRON_HOUR:
        cron->hours |= UINT32_C(1) << value;
        return;
    case CRON_DAY:
        cron->days |= UINT32_C(1) << value;
        return;
    case CRON_MONTH:
        cron->months |= (uint16_t)(1 << value);
        return;
    case CRON_WEEKDAY:
        cron->weekdays |= (uint8_t)(1 << value % 7);
        return;
    case CRON_FIELD_COUNT:
        return;
    }
}

uint64_t cron_field_values(const struct cron *cron, enum cron_field field)
{
    switch (field) {
    case CRON_SECOND:
        return cron->seconds;
    case CRON_MINUTE:
        return cron->minutes;
    case CRON_HOUR:
        return cron->hours;
    case CRON_DAY:
        return cron->days & ~UINT32_C(1);
    case CRON_MONTH:
        return cron->months;
    case CRON_WEEKDAY:
        return cron->weekdays;
    case CRON_FIELD_COUNT:
        break;
    }
    return 0;
}

/* "/n" behind a range from `least` to `most`, and the values of both. */
static bool put_range(struct item *item, int least, int most)
{
    int step = 1;
    if (take(item, '/')) {
        if (!read_number(item, &step))
            return is_bad(item, "the step behind \"/\" must be a number");
        if (step == 0)
            return is_bad(item, "a step of 0 leads nowhere");
        if (step >= NUMBER_MAX)
            return is_bad(item, "the step is too large");
        if (least + step > most && least < most)
            item->cron->has_beyond_step = true;
    }
    if (!is_at_end(item))
        return false;
    for (int value = least; value <= most; value += step)
        put(item->cron, item->field, value);
    return true;
}

/* ---- the forms of an item ---- */

/* What to write for a range that runs backwards. */
static bool runs_backwards(struct item *item, int least, int most)
{
    const struct cron_range *range = item->range;
    int first = item->field == CRON_WEEKDAY ? 1 : range->least;
    char tail[16], head[16];
    snprintf(tail, sizeof tail, least == range->most ? "%d" : "%d-%d", least, range->most);
    snprintf(head, sizeof head, most == first ? "%d" : "%d-%d", first, most);
    if (is_at(item, '/'))
        return is_bad(item, "the range runs backwards: write two");
    return is_bad(item, "the range runs backwards: write %s,%s", tail, head);
}

static bool read_range(struct item *item, int least)
{
    int most;
    if (!read_value(item, &most))
        return false;
    if (item->field == CRON_WEEKDAY && most == 0 && least > 0)
        most = 7; /* fri-sun */
    if (least > most)
        return runs_backwards(item, least, most);
    return put_range(item, least, most);
}

/* N~M, either of which may be missing: one value for this key, everywhere the same. */
static bool read_choice(struct item *item, int least)
{
    int most = item->range->last;
    if (item->at < item->end && !is_at(item, '/') && !read_value(item, &most))
        return false;
    if (least > most)
        return is_bad(item, "the range runs backwards");
    if (is_at(item, '/'))
        return is_bad(item, "a value that is chosen by \"~\" has no step");
    uint64_t hash = cron_hash_with(cron_hash_text(item->key), (uint64_t)item->field);
    put(item->cron, item->field, least + (int)(hash % (uint64_t)(most - least + 1)));
    return is_at_end(item);
}

/* wL, w#k */
static bool read_weekday_of_month(struct item *item, int weekday)
{
    int nth;
    if (take(item, 'L')) {
        item->cron->last_weekdays |= (uint8_t)(1 << weekday % 7);
        return is_at_end(item);
    }
    item->at++;
    if (!read_number(item, &nth) || nth < 1 || nth > NTH_MOST)
        return is_bad(item, "a number from 1 to 5 must stand behind \"#\"");
    item->cron->nth_weekdays |= UINT64_C(1) << (5 * (weekday % 7) + nth - 1);
    return is_at_end(item);
}

/* L, LW */
static bool read_last_day(struct item *item)
{
    if (take(item, 'W'))
        item->cron->near_days |= 1;
    else
        item->cron->days |= 1;
    return is_at_end(item);
}

static bool read_from_value(struct item *item)
{
    int value = 0;
    if (!read_value(item, &value))
        return false;
    if (take(item, '-'))
        return read_range(item, value);
    if (take(item, '~'))
        return read_choice(item, value);
    if (is_at(item, '/'))
        return is_bad(item, "a step needs a range: write %d-%d%.*s", value, item->range->last,
                      (int)(item->end - item->at > 8 ? 8 : item->end - item->at), item->at);
    if (item->field == CRON_WEEKDAY && (is_at(item, '#') || is_at(item, 'L') || is_at(item, 'l')))
        return read_weekday_of_month(item, value);
    if (item->field == CRON_DAY && take(item, 'W')) {
        item->cron->near_days |= UINT32_C(1) << value;
        return is_at_end(item);
    }
    if (is_at(item, ':') && item->field <= CRON_HOUR)
        return is_bad(item, "a time of day is two fields: minute, then hour");
    put(item->cron, item->field, value);
    return is_at_end(item);
}

static bool read_item(struct item *item)
{
    bool is_day_field = item->field == CRON_DAY || item->field == CRON_WEEKDAY;
    if (item->at == item->end)
        return is_bad(item, "an item of the list is empty");
    if (take(item, '*') || (is_day_field && take(item, '?')))
        return put_range(item, item->range->least, item->range->last);
    if (take(item, '~'))
        return read_choice(item, item->range->least);
    if (item->field == CRON_DAY && take(item, 'L'))
        return read_last_day(item);
    return read_from_value(item);
}

/* ---- the field ---- */

static bool check_ascii(const char *text, size_t length, struct item *item)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] >= 0x80)
            return is_bad(item, "it has a character that is not ASCII");
    return true;
}

static bool read_list(struct item *item, const char *text, size_t length)
{
    const char *end = text + length;
    if (!check_ascii(text, length, item))
        return false;
    for (const char *from = text;; from = item->end + 1) {
        const char *comma = memchr(from, ',', (size_t)(end - from));
        item->at = from;
        item->end = comma != NULL ? comma : end;
        if (!read_item(item))
            return false;
        if (comma == NULL)
            return true;
    }
}

bool cron_field_parse(enum cron_field field, const char *text, size_t length, const char *key,
                      struct cron *cron, struct error *err)
{
    struct item item = {.field = field, .range = &cron_ranges[field], .key = key, .cron = cron};
    if ((text[0] == '*' && field != CRON_MONTH) ||
        (text[0] == '?' && (field == CRON_DAY || field == CRON_WEEKDAY)))
        cron->stars |= (uint8_t)(1U << field);
    if (read_list(&item, text, length))
        return true;
    bool is_long = length > QUOTED_MAX;
    return error_set(err, ERROR_CONFIG, "%s \"%.*s%s\": %s", item.range->name,
                     (int)(is_long ? QUOTED_MAX : length), text, is_long ? "..." : "", item.fault);
}

const char *cron_field_name(enum cron_field field)
{
    return cron_ranges[field].name;
}
