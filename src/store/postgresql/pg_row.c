/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_row.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

static const char *find(const PGresult *result, int row, const char *column)
{
    int number = PQfnumber(result, column);
    if (number < 0 || row >= PQntuples(result) || PQgetisnull(result, row, number) == 1)
        return NULL;
    return PQgetvalue(result, row, number);
}

const char *pg_row_text(const PGresult *result, int row, const char *column)
{
    const char *value = find(result, row, column);
    return value == NULL ? "" : value;
}

char *pg_row_copy(const PGresult *result, int row, const char *column)
{
    return mem_strdup(find(result, row, column));
}

/* libpq reads either form in which a server may be told to write a bytea. */
char *pg_row_copy_bytes(const PGresult *result, int row, const char *column, size_t *ret_count)
{
    const char *value = find(result, row, column);
    *ret_count = 0;
    if (value == NULL)
        return NULL;
    unsigned char *bytes = PQunescapeBytea((const unsigned char *)value, ret_count);
    char *copy = mem_dup(bytes, *ret_count);
    PQfreemem(bytes);
    return copy;
}

int64_t pg_row_int64(const PGresult *result, int row, const char *column, int64_t if_null)
{
    const char *value = find(result, row, column);
    return value == NULL ? if_null : strtoll(value, NULL, 10);
}

bool pg_row_bool(const PGresult *result, int row, const char *column)
{
    return pg_row_text(result, row, column)[0] == 't';
}

void pg_row_copy_into(const PGresult *result, int row, const char *column, char *ret_text,
                      size_t room)
{
    snprintf(ret_text, room, "%s", pg_row_text(result, row, column));
}
