/* SPDX-License-Identifier: ISC */
/* Rows on stdout: columns for people, or one JSON object a line for programs. Cells are added row
 * by row in the order of the columns; listing_end prints. */
#pragma once
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listing_column {
    const char *name;  /* in JSON: "remaining_ms" */
    const char *title; /* for people: "REMAINING" */
};

struct listing {
    const struct listing_column *columns;
    size_t column_count;
    bool is_json;
    char **cells; /* for people; empty after each row when is_json */
    size_t cell_count;
};

void listing_start(struct listing *listing, const struct listing_column *columns,
                   size_t column_count, bool is_json);
void listing_text(struct listing *listing, const char *value); /* NULL: nothing there */
/* Any bytes as text, which has U+FFFD for those that are no UTF-8; NULL: nothing there. */
void listing_bytes(struct listing *listing, const char *bytes, size_t count);
/* As RFC 4648 writes them; NULL: nothing there. */
void listing_base64(struct listing *listing, const char *bytes, size_t count);
void listing_number(struct listing *listing, int64_t value);
void listing_fence(struct listing *listing, int64_t fence);     /* none: nothing there */
void listing_span(struct listing *listing, int64_t ms);         /* JSON: the number */
void listing_instant(struct listing *listing, int64_t wall_us); /* NO_INSTANT: nothing there */
void listing_nothing(struct listing *listing);                  /* JSON: null; for people: "-" */
void listing_end(struct listing *listing); /* prints nothing when there are no rows */
