/* SPDX-License-Identifier: ISC */
/* A column of a batch: the values of all rows, as an array in the server's binary form, which is
 * the cheapest to write and to read. Most columns are NULL in most batches: a NULL is written when
 * a value follows it, since unnest beside unnest fills the shorter columns up, to the length of the
 * keys. A column is of text[], of int8[] or of timestamptz[]. */
#pragma once
#include "base/text.h"
#include "store/postgresql/pg_query.h"

#include <stdbool.h>
#include <stdint.h>

struct pg_column {     /* zeroed: no rows yet */
    struct text array; /* empty: all are NULL */
    uint32_t count;    /* of the elements written */
    uint32_t type;
    bool has_nulls;
    size_t null_count; /* not written yet */
};

void pg_column_add_text(struct pg_column *column, const char *value); /* NULL is NULL */
void pg_column_add_number(struct pg_column *column, int64_t value);   /* NO_INSTANT is NULL */
void pg_column_add_instant(struct pg_column *column, int64_t wall_us);

/* Each column becomes a parameter of the statement, and is empty after. */
void pg_column_hand_over(struct pg_statement *statement, struct pg_column *columns, int count);
