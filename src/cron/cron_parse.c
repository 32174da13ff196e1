/* SPDX-License-Identifier: ISC */
#include "cron/cron.h"
#include "cron/cron_day.h"
#include "cron/cron_field.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define BLANKS          " \t"
#define FIELDS_MAX      7 /* that are looked at; more are counted */
#define QUOTED_MAX      60
#define EVERY_MAX_S     (INT64_C(5200) * 7 * CIVIL_DAY_S)
#define NANOS           INT64_C(1000000000)
#define FRACTION_DIGITS 9

static const struct macro {
    const char *name, *fields;
    enum cron_kind kind;
} macros[] = {
    {"@yearly", "0 0 1 1 *", CRON_CALENDAR},  {"@annually", "0 0 1 1 *", CRON_CALENDAR},
    {"@monthly", "0 0 1 * *", CRON_CALENDAR}, {"@weekly", "0 0 * * 0", CRON_CALENDAR},
    {"@daily", "0 0 * * *", CRON_CALENDAR},   {"@midnight", "0 0 * * *", CRON_CALENDAR},
    {"@hourly", "0 * * * *", CRON_CALENDAR},  {"@once", NULL, CRON_ONCE},
    {"@reboot", NULL, CRON_REBOOT},           {NULL, NULL, CRON_CALENDAR},
};

/* A piece of the text, without blanks around. */
struct span {
    const char *from;
    size_t length;
};

static struct span span_of(const char *text)
{
    struct span span = {.from = text + strspn(text, BLANKS)};
    span.length = strlen(span.from);
    while (span.length > 0 && strchr(BLANKS, span.from[span.length - 1]) != NULL)
        span.length--;
    return span;
}

static size_t split(struct span text, struct span ret_fields[FIELDS_MAX])
{
    size_t count = 0;
    const char *at = text.from, *end = text.from + text.length;
    while (at < end) {
        size_t length = strcspn(at, BLANKS);
        if (length > (size_t)(end - at))
            length = (size_t)(end - at);
        if (count < FIELDS_MAX)
            ret_fields[count] = (struct span){at, length};
        count++;
        at += length;
        at += strspn(at, BLANKS);
    }
    return count;
}

/* ---- every ---- */

/* Nanoseconds of "1.5h" at *at, which is moved behind it. */
static bool read_part(const char **at, const char *end, int64_t *ret_ns)
{
    static const struct unit {
        const char *name;
        int64_t ns;
    } units[] = {{"ms", NANOS / 1000}, {"h", 3600 * NANOS}, {"m", 60 * NANOS}, {"s", NANOS}};
    int64_t whole = 0, fraction = 0, scale = 1;
    const char *from = *at;
    for (; *at < end && isdigit((unsigned char)**at); ++*at)
        if ((whole = whole * 10 + **at - '0') > EVERY_MAX_S * 1000)
            return false;
    size_t digits = (size_t)(*at - from);
    if (*at < end && **at == '.')
        for (++*at; *at < end && isdigit((unsigned char)**at); ++*at, digits++)
            if (scale < NANOS) {
                fraction = fraction * 10 + **at - '0';
                scale *= 10;
            }
    for (size_t i = 0; digits > 0 && i < sizeof units / sizeof units[0]; i++) {
        size_t length = strlen(units[i].name);
        if ((size_t)(end - *at) < length || strncmp(*at, units[i].name, length) != 0)
            continue;
        *at += length;
        if (__builtin_mul_overflow(whole, units[i].ns, ret_ns))
            return false;
        *ret_ns += (int64_t)((__int128)fraction * units[i].ns / scale);
        return true;
    }
    return false;
}

static bool bad_interval(struct span text, const char *reason, struct error *err)
{
    return error_set(err, ERROR_CONFIG, "interval \"%.*s\": %s",
                     (int)(text.length > QUOTED_MAX ? QUOTED_MAX : text.length), text.from, reason);
}

static bool parse_every(struct span text, struct cron *ret_cron, struct error *err)
{
    int64_t sum_ns = 0, part_ns;
    const char *at = text.from, *end = text.from + text.length;
    do {
        if (!read_part(&at, end, &part_ns) || __builtin_add_overflow(sum_ns, part_ns, &sum_ns))
            return bad_interval(text, "write numbers with units h m s, as in 90s, 1h30m, 24h", err);
    } while (at < end);
    if (sum_ns < NANOS)
        return bad_interval(text, "must be at least 1s", err);
    if (sum_ns % NANOS != 0)
        return bad_interval(text, "must be whole seconds", err);
    if (sum_ns / NANOS > EVERY_MAX_S)
        return bad_interval(text, "is more than a hundred years", err);
    *ret_cron = (struct cron){.kind = CRON_EVERY, .every_s = sum_ns / NANOS};
    return true;
}

/* ---- fields ---- */

static bool parse_fields(struct span fields[], size_t count, const char *key, struct cron *ret_cron,
                         struct error *err)
{
    struct cron cron = {.kind = CRON_CALENDAR};
    size_t field = count == CRON_FIELD_COUNT ? CRON_SECOND : CRON_MINUTE;
    if (field == CRON_MINUTE)
        cron.seconds = 1;
    for (size_t i = 0; i < count; i++, field++)
        if (!cron_field_parse((enum cron_field)field, fields[i].from, fields[i].length, key, &cron,
                              err))
            return false;
    cron.is_never = cron_day_is_never(&cron);
    *ret_cron = cron;
    return true;
}

/* "2030", "2024-2026" */
static bool looks_like_years(struct span field)
{
    return field.length >= 4 && isdigit((unsigned char)field.from[3]) &&
           (strncmp(field.from, "19", 2) == 0 || strncmp(field.from, "20", 2) == 0);
}

static bool bad_years(struct span fields[], size_t count, struct error *err)
{
    struct span years = fields[count - 1];
    const char *first = fields[0].from;
    return error_set(err, ERROR_CONFIG,
                     "\"%.*s\" at the end: a schedule has no field for years; without it write "
                     "\"%.*s\"",
                     (int)(years.length > QUOTED_MAX ? QUOTED_MAX : years.length), years.from,
                     (int)(fields[count - 2].from + fields[count - 2].length - first), first);
}

static bool has_foreign(struct span text)
{
    for (size_t i = 0; i < text.length; i++)
        if ((unsigned char)text.from[i] >= 0x80)
            return true;
    return false;
}

static bool bad_count(struct span text, struct span fields[], size_t count, struct error *err)
{
    const char *hint = "";
    if (has_foreign(text))
        hint = "; it has a character that is not ASCII, and blanks are spaces and tabs";
    else if (memchr(text.from, '@', text.length) != NULL)
        hint = ", and a name with @ stands alone";
    else if (memchr(text.from, ':', text.length) != NULL)
        hint = "; 12:30 every day is \"30 12 * * *\"";
    for (const struct macro *macro = macros; count == 1 && macro->name != NULL; macro++)
        if (strlen(macro->name + 1) == text.length &&
            strncasecmp(text.from, macro->name + 1, text.length) == 0)
            return error_set(err, ERROR_CONFIG, "\"%.*s\": write %s", (int)text.length, text.from,
                             macro->name);
    if (count == 0)
        return error_set(err, ERROR_CONFIG, "the schedule is empty");
    if (count == FIELDS_MAX)
        return bad_years(fields, count, err);
    return error_set(err, ERROR_CONFIG,
                     "\"%.*s%s\" has %zu field%s: a schedule has five (minute, hour, day of month, "
                     "month, weekday), or six with seconds in front%s",
                     (int)(text.length > QUOTED_MAX ? QUOTED_MAX : text.length), text.from,
                     text.length > QUOTED_MAX ? "..." : "", count, count == 1 ? "" : "s", hint);
}

static bool parse_calendar(struct span text, const char *key, struct cron *ret_cron,
                           struct error *err)
{
    struct span fields[FIELDS_MAX] = {{NULL, 0}};
    size_t count = split(text, fields);
    if (strchr("\"'`", text.from[0]) != NULL && text.length > 1 &&
        text.from[text.length - 1] == text.from[0])
        return error_set(err, ERROR_CONFIG,
                         "minute \"%.*s\": leave out the quotes around the "
                         "schedule",
                         (int)fields[0].length, fields[0].from);
    if (count == CRON_FIELD_COUNT && looks_like_years(fields[count - 1]))
        return bad_years(fields, count, err);
    if (count != CRON_FIELD_COUNT && count != CRON_FIELD_COUNT - 1)
        return bad_count(text, fields, count, err);
    return parse_fields(fields, count, key, ret_cron, err);
}

/* ---- names with @ ---- */

static bool parse_macro(struct span text, const char *key, struct cron *ret_cron, struct error *err)
{
    for (const struct macro *macro = macros; macro->name != NULL; macro++) {
        size_t length = strlen(macro->name);
        if (length > text.length || strncasecmp(text.from, macro->name, length) != 0)
            continue;
        if (length < text.length && strchr(BLANKS, text.from[length]) != NULL)
            return error_set(err, ERROR_CONFIG, "nothing may follow %s", macro->name);
        if (length < text.length)
            break;
        if (strncmp(text.from, macro->name, length) != 0)
            return error_set(err, ERROR_CONFIG, "\"%.*s\" is written in lower case: %s",
                             (int)text.length, text.from, macro->name);
        *ret_cron = (struct cron){.kind = (uint8_t)macro->kind};
        return macro->fields == NULL || parse_calendar(span_of(macro->fields), key, ret_cron, err);
    }
    return error_set(err, ERROR_CONFIG,
                     "unknown name \"%.*s\": there are @hourly @daily @midnight @weekly @monthly "
                     "@yearly @annually @once @reboot, and \"every 5m\"",
                     (int)(text.length > QUOTED_MAX ? QUOTED_MAX : text.length), text.from);
}

/* What follows "every" or "@every" and a blank. */
static bool is_every(struct span text, struct span *ret_interval)
{
    size_t length = strlen("every");
    if (text.length > 0 && text.from[0] == '@')
        length++;
    if (text.length <= length || strncmp(text.from + length - strlen("every"), "every", 5) != 0 ||
        strchr(BLANKS, text.from[length]) == NULL)
        return false;
    const char *from = text.from + length + strspn(text.from + length, BLANKS);
    *ret_interval = (struct span){from, (size_t)(text.from + text.length - from)};
    return true;
}

bool cron_parse(const char *text, const char *key, struct cron *ret_cron, struct error *err)
{
    struct span whole = span_of(text), interval;
    if (strnlen(text, CRON_EXPRESSION_MAX + 1) > CRON_EXPRESSION_MAX)
        return error_set(err, ERROR_CONFIG, "the schedule is longer than %d bytes",
                         CRON_EXPRESSION_MAX);
    for (const char *at = text; *at != '\0'; at++)
        if (iscntrl((unsigned char)*at) && *at != '\t')
            return error_set(err, ERROR_CONFIG, "the schedule has a control character (0x%02x)",
                             (unsigned)(unsigned char)*at);
    if (is_every(whole, &interval))
        return parse_every(interval, ret_cron, err);
    if (whole.length > 0 && whole.from[0] == '@')
        return parse_macro(whole, key, ret_cron, err);
    return parse_calendar(whole, key, ret_cron, err);
}
