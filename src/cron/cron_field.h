/* SPDX-License-Identifier: ISC */
/* One field of a schedule: its range, its names, how it is read. For cron*.c alone. */
#pragma once
#include "cron/cron.h"

#include <stddef.h>

struct cron_range {
    const char *name; /* for people: "day of month" */
    int least, most;
    int last;                 /* what "to the end" means: weekdays end with 6 although 7 is one */
    const char *const *names; /* three letters each, from `least` on; NULL: numbers only */
};

extern const struct cron_range cron_ranges[CRON_FIELD_COUNT];

/* Reads a field of `length` bytes into *cron, in addition to what is there. On failure ERROR_CONFIG
 * and a sentence that begins with the field's name. */
bool cron_field_parse(enum cron_field field, const char *text, size_t length, const char *key,
                      struct cron *cron, struct error *err);

/* The field's plain values, bit n for n. */
uint64_t cron_field_values(const struct cron *cron, enum cron_field field);
