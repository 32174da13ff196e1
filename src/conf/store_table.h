/* SPDX-License-Identifier: ISC */
/* The table of another program, in which leases are kept beside that program's: what `dialect`,
 * `table` and `columns` of [store] say, read.
 *
 * Names are written as in SQL: one of other characters than small letters, digits and _ stands in
 * double quotes, one without them is folded to small letters. */
#pragma once
#include "base/error.h"
#include "conf/store_url.h"

#include <stdbool.h>

enum store_column {
    STORE_COLUMN_KEY,
    STORE_COLUMN_HOLDER,
    STORE_COLUMN_ACQUIRED_AT,
    STORE_COLUMN_EXPIRES_AT,
    STORE_COLUMN_COUNT
};
/* As `columns` names it: "acquired_at". */
const char *store_column_name(enum store_column column);

struct store_table {
    enum store_dialect dialect;
    char *schema; /* "public" where the table is named alone: no search path decides */
    char *name;
    char *columns[STORE_COLUMN_COUNT];
};

/* Fills *ret_table (store_table_done gives it back; it is empty with DIALECT_LEASERUN). The names
 * have defaults: of the dialect shedlock all, of fenceless the columns. ERROR_CONFIG: a name that
 * cannot be read, a column that there is not or that stands twice, fenceless without a table, a
 * table or columns of our own dialect, another store than PostgreSQL. */
bool store_table_read(const struct store_config *config, struct store_table *ret_table,
                      struct error *err);
void store_table_done(struct store_table *table);
