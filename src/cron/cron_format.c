/* SPDX-License-Identifier: ISC */
#include "cron/cron_field.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct output {
    char *text;
    size_t used;
    bool is_list; /* the next item needs a comma */
};

static void add(struct output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct output *output, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int count =
        vsnprintf(output->text + output->used, CRON_TEXT_MAX - output->used, format, arguments);
    va_end(arguments);
    output->used += (size_t)count; /* CRON_TEXT_MAX holds the longest schedule */
}

static void start_item(struct output *output)
{
    if (output->is_list)
        add(output, ",");
    output->is_list = true;
}

static uint64_t stepped(const struct cron_range *range, int step)
{
    uint64_t values = 0;
    for (int value = range->least; value <= range->last; value += step)
        values |= UINT64_C(1) << value;
    return values;
}

/* A field that begins with a star: the smallest step whose values are all there. Returns them. */
static uint64_t add_star(struct output *output, const struct cron_range *range, uint64_t values)
{
    int step = 1;
    while ((stepped(range, step) & ~values) != 0)
        step++;
    start_item(output);
    add(output, step == 1 ? "*" : "*/%d", step);
    return stepped(range, step);
}

static void add_ranges(struct output *output, uint64_t values)
{
    while (values != 0) {
        int first = __builtin_ctzll(values);
        int last = first;
        while (last < 63 && (values >> (last + 1) & 1))
            last++;
        start_item(output);
        add(output, first == last ? "%d" : "%d-%d", first, last);
        values &= last == 63 ? 0 : UINT64_MAX << (last + 1);
    }
}

/* L, LW, nW, nL, n#k */
static void add_special(struct output *output, const struct cron *cron, enum cron_field field)
{
    for (int day = 0; field == CRON_DAY && day <= 31; day++) {
        if (day == 0 && (cron->days & 1))
            start_item(output), add(output, "L");
        if (!(cron->near_days >> day & 1))
            continue;
        start_item(output);
        add(output, day == 0 ? "LW" : "%dW", day);
    }
    for (int weekday = 0; field == CRON_WEEKDAY && weekday < 7; weekday++) {
        for (int nth = 1; nth <= 5; nth++)
            if (cron->nth_weekdays >> (5 * weekday + nth - 1) & 1)
                start_item(output), add(output, "%d#%d", weekday, nth);
        if (cron->last_weekdays >> weekday & 1)
            start_item(output), add(output, "%dL", weekday);
    }
}

static void add_field(struct output *output, const struct cron *cron, enum cron_field field)
{
    const struct cron_range *range = &cron_ranges[field];
    uint64_t values = cron_field_values(cron, field);
    output->is_list = false;
    bool is_all_months = field == CRON_MONTH && values == stepped(range, 1);
    if (is_all_months || cron->stars >> field & 1)
        values &= ~add_star(output, range, values);
    add_ranges(output, values);
    add_special(output, cron, field);
}

static void add_interval(struct output *output, int64_t seconds)
{
    add(output, "every ");
    if (seconds >= 3600)
        add(output, "%" PRId64 "h", seconds / 3600);
    if (seconds / 60 % 60 > 0)
        add(output, "%" PRId64 "m", seconds / 60 % 60);
    if (seconds % 60 > 0)
        add(output, "%" PRId64 "s", seconds % 60);
}

const char *cron_format(const struct cron *cron, char ret_text[CRON_TEXT_MAX])
{
    struct output output = {.text = ret_text};
    enum cron_field field = CRON_SECOND;
    ret_text[0] = '\0';
    switch ((enum cron_kind)cron->kind) {
    case CRON_ONCE:
        add(&output, "@once");
        return ret_text;
    case CRON_REBOOT:
        add(&output, "@reboot");
        return ret_text;
    case CRON_EVERY:
        add_interval(&output, cron->every_s);
        return ret_text;
    case CRON_CALENDAR:
        break;
    }
    if (cron->seconds == 1 && !(cron->stars >> CRON_SECOND & 1))
        field = CRON_MINUTE;
    for (bool is_first = true; field < CRON_FIELD_COUNT; field++, is_first = false) {
        if (!is_first)
            add(&output, " ");
        add_field(&output, cron, field);
    }
    return ret_text;
}
