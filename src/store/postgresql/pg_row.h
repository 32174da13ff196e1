/* SPDX-License-Identifier: ISC */
/* Values of a reply, by the column's name. A name that is not there is a fault of the program and
 * reads like NULL. */
#pragma once
#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

const char *pg_row_text(const PGresult *result, int row, const char *column); /* NULL is "" */
char *pg_row_copy(const PGresult *result, int row, const char *column);       /* NULL is NULL */
/* Of a bytea, with a NUL behind. NULL is NULL. */
char *pg_row_copy_bytes(const PGresult *result, int row, const char *column, size_t *ret_count);
int64_t pg_row_int64(const PGresult *result, int row, const char *column, int64_t if_null);
bool pg_row_bool(const PGresult *result, int row, const char *column); /* NULL is false */
void pg_row_copy_into(const PGresult *result, int row, const char *column, char *ret_text,
                      size_t room);
