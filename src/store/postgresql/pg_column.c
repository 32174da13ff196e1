/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_column.h"

#include "base/now.h"

#include <string.h>

#define TYPE_TEXT        25 /* in pg_type, on every server */
#define TYPE_INT8        20
#define TYPE_TIMESTAMPTZ 1184
#define HEADER_BYTES     20

#define SERVERS_EPOCH_US 946684800000000 /* 2000-01-01, from which the server counts */

static void put_uint32(char bytes[4], uint32_t value)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (char)(value >> (24 - 8 * i));
}

static void add_element(struct pg_column *column, const void *bytes, size_t length)
{
    char prefix[4];
    put_uint32(prefix, bytes == NULL ? UINT32_MAX : (uint32_t)length);
    text_add_bytes(&column->array, prefix, sizeof prefix);
    text_add_bytes(&column->array, bytes, length);
    column->count++;
}

static void add_value(struct pg_column *column, uint32_t type, const void *bytes, size_t length)
{
    static const char header[HEADER_BYTES];
    column->type = type;
    column->has_nulls = column->has_nulls || column->null_count > 0;
    if (column->count == 0)
        text_add_bytes(&column->array, header, sizeof header);
    for (; column->null_count > 0; column->null_count--)
        add_element(column, NULL, 0);
    add_element(column, bytes, length);
}

void pg_column_add_text(struct pg_column *column, const char *value)
{
    if (value == NULL)
        column->null_count++;
    else
        add_value(column, TYPE_TEXT, value, strlen(value));
}

static void add_eight_bytes(struct pg_column *column, uint32_t type, uint64_t value)
{
    char bytes[8];
    put_uint32(bytes, (uint32_t)(value >> 32));
    put_uint32(bytes + 4, (uint32_t)value);
    add_value(column, type, bytes, sizeof bytes);
}

void pg_column_add_number(struct pg_column *column, int64_t value)
{
    if (value == NO_INSTANT)
        column->null_count++;
    else
        add_eight_bytes(column, TYPE_INT8, (uint64_t)value);
}

void pg_column_add_instant(struct pg_column *column, int64_t wall_us)
{
    if (wall_us == NO_INSTANT)
        column->null_count++;
    else
        add_eight_bytes(column, TYPE_TIMESTAMPTZ, (uint64_t)wall_us - SERVERS_EPOCH_US);
}

/* How many dimensions, whether any is NULL, the type; the length and first index of the one
 * dimension. */
static void put_header(struct pg_column *column)
{
    const uint32_t words[] = {1, column->has_nulls, column->type, column->count, 1};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        put_uint32(column->array.bytes + 4 * i, words[i]);
}

void pg_column_hand_over(struct pg_statement *statement, struct pg_column *columns, int count)
{
    for (struct pg_column *column = columns; column < columns + count; column++) {
        size_t length = column->array.length;
        if (column->count > 0)
            put_header(column);
        pg_statement_add_binary(statement, length == 0 ? NULL : text_detach(&column->array),
                                length);
    }
}
