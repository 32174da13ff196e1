/* SPDX-License-Identifier: ISC */
/* Schedules and their slots. A struct cron is a small value without pointers; the zone in which it
 * is read comes separately. Slots are instants in microseconds since 1970 UTC, NO_INSTANT for
 * "never".
 *
 * Where implementations differ, the rules are those of Debian's cron(8) and crontab(5):
 * - Day of month and weekday: when both are restricted, either one suffices; when one of them
 *   begins with a star, steps included, both must match.
 * - A clock that goes forward by less than 3 hours: times that do not exist are due once, at the
 *   instant of the change. One that goes back by less than 3 hours: times that come twice are due
 *   the first time. Both only when no field of second, minute and hour begins with `*`; other
 *   schedules go by the new time at once, and so do all at greater changes.
 * - L, W and # are as in Quartz; a sixth field stands in front, for seconds. */
#pragma once
#include "base/error.h"
#include "base/now.h"
#include "cron/zone.h"

#include <stdbool.h>
#include <stdint.h>

enum cron_kind {
    CRON_CALENDAR, /* "0 2 * * *", "30 0 2 * * *", "@daily" */
    CRON_EVERY,    /* "every 30s": a grid from 1970, the same on every replica and in every zone */
    CRON_ONCE,     /* "@once" */
    CRON_REBOOT,   /* "@reboot" */
};

enum cron_field {
    CRON_SECOND,
    CRON_MINUTE,
    CRON_HOUR,
    CRON_DAY, /* of the month */
    CRON_MONTH,
    CRON_WEEKDAY,
    CRON_FIELD_COUNT
};

struct cron {
    union {
        uint64_t seconds; /* CRON_CALENDAR: bit n is second n */
        int64_t every_s;  /* CRON_EVERY */
    };
    uint64_t minutes;
    uint64_t nth_weekdays; /* bit 5 w + k - 1: the k-th weekday w of the month */
    uint32_t hours;
    uint32_t days;         /* bits 1 to 31; bit 0: L, the last day */
    uint32_t near_days;    /* bits 1 to 31: nW, the weekday next to day n; bit 0: LW */
    uint16_t months;       /* bits 1 to 12 */
    uint8_t weekdays;      /* bits 0 to 6, Sunday is 0 */
    uint8_t last_weekdays; /* nL: the last such weekday of the month */
    uint8_t stars;         /* bit per enum cron_field that begins with `*`, but for months */
    uint8_t kind;          /* enum cron_kind */
    bool is_never;         /* no date matches: February 30 */
    bool has_beyond_step;  /* a step is beyond its range and gives the first value only */
};

#define CRON_EXPRESSION_MAX 1024 /* bytes of a schedule's text */
#define CRON_TEXT_MAX       1024 /* of its formatted text, with the NUL */

/* No slot is later than the end of the year 9999. */
#define CRON_LAST_US INT64_C(253402300799000000)

/* Reads a schedule. `N~M` is one value that is chosen by a hash of the key, so that every replica
 * chooses the same; NULL is the empty key. On failure ERROR_CONFIG and a sentence that names the
 * field, quotes what is wrong in it and says what would be right; *ret_cron is untouched. */
bool cron_parse(const char *text, const char *key, struct cron *ret_cron, struct error *err);

/* The schedule in one form for all its spellings: "@daily" is "0 0 * * *". Parsed again it gives
 * the same slots; a key no longer matters. */
const char *cron_format(const struct cron *cron, char ret_text[CRON_TEXT_MAX]);

/* The first slot strictly after the instant; NO_INSTANT when there is none up to CRON_LAST_US, and
 * for CRON_ONCE and CRON_REBOOT, which have no slots on the clock. Takes microseconds of CPU,
 * a millisecond at worst. */
int64_t cron_next(const struct cron *cron, const struct zone *zone, int64_t after_us);

/* The first slot in (after, until]; NO_INSTANT when there is none. */
int64_t cron_next_until(const struct cron *cron, const struct zone *zone, int64_t after_us,
                        int64_t until_us);

/* The latest slot in (after, until]; NO_INSTANT when there is none. Costs some 50 cron_next,
 * however many slots lie between. */
int64_t cron_latest(const struct cron *cron, const struct zone *zone, int64_t after_us,
                    int64_t until_us);

/* True for `every` of at most 60 s: a job that repeats within a minute. */
bool cron_repeats_within_minute(const struct cron *cron);

/* How much later than its slot a job starts: 0 to jitter_ms - 1, a hash of key and slot, the same
 * on every replica; 0 without jitter. */
int64_t cron_jitter_ms(const char *key, int64_t slot_us, int64_t jitter_ms);

const char *cron_field_name(enum cron_field field); /* "day of month" */
