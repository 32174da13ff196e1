/* SPDX-License-Identifier: ISC */
/* Text to value and back. A value that does not fit is told in a sentence that says what would;
 * formatting is parsing's inverse. */
#pragma once
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define VALUE_TEXT_MAX        64
#define VALUE_DURATION_MAX_MS (5200 * INT64_C(604800000)) /* 5200w; sums with instants fit */

/* "3m", "1h 30m", "1h30m", "500ms": whole numbers with units ms s m h d w, larger ones first, each
 * once, 5200w at most. A bare number other than 0 is refused: nobody can know what its writer
 * meant. */
bool value_parse_duration(const char *text, int64_t *ret_ms, struct error *err);
const char *value_format_duration(int64_t ms, char ret_text[VALUE_TEXT_MAX]);

/* Decimal digits; leading zeros are not octal. */
bool value_parse_count(const char *text, int64_t *ret_count, struct error *err);

/* Bytes: "4096", "64K", "64KiB", "1M", "1G"; K is 1024. */
bool value_parse_size(const char *text, int64_t *ret_bytes, struct error *err);
const char *value_format_size(int64_t bytes, char ret_text[VALUE_TEXT_MAX]);

/* yes no on off true false. */
bool value_parse_switch(const char *text, bool *ret_is_on, struct error *err);

/* Octal, 0 to 777. */
bool value_parse_umask(const char *text, int *ret_mask, struct error *err);

struct value_choice {
    const char *name; /* the array ends with NULL */
    int value;
};
bool value_parse_choice(const char *text, const struct value_choice *choices, int *ret_value,
                        struct error *err);
