/* SPDX-License-Identifier: ISC */
/* The table of another program, as our statements see it. A mandate in it is (key, holder): it has
 * no fence, so the holder is new with every run, "host/pid#random", cut to the column's length with
 * the random part whole. The sign before the random part says what became of the mandate:
 *
 *   #  held, or run out
 *   ~  revoked by hand: its holder learns of it by the next renewal
 *   !  given back by its holder
 *
 * The row stays for good, and only holder and the two instants are ever written. Instants in
 * columns without time zone are UTC. */
#pragma once
#include "base/identity.h"
#include "conf/store_table.h"
#include "store/postgresql/pg_sql.h"

#include <stdbool.h>

#define PG_FOREIGN_NAMES_MAX    32
#define PG_FOREIGN_RANDOM_LEAST 16 /* of the random part: 64 bits */

struct pg_foreign_column {
    int chars;     /* of text: the most that fit; 0: any number */
    int digits;    /* of an instant: after the second's point, 6 at most */
    bool has_zone; /* of an instant */
};

struct pg_foreign {
    struct store_table table;
    char *shown;                 /* "public"."shedlock" */
    int64_t known_until_boot_ms; /* what follows was read, and nothing stands against the table */
    bool is_joined;              /* our own tables are there: runs, slots and fences live in them */
    struct pg_foreign_column columns[STORE_COLUMN_COUNT];
    struct pg_sql_name names[PG_FOREIGN_NAMES_MAX + 1]; /* for pg_sql_expand_names */
};

/* False as store_table_read says. For a store of our own dialect *ret_foreign is NULL. */
bool pg_foreign_open(const struct store_config *config, struct pg_foreign **ret_foreign,
                     struct error *err);
void pg_foreign_close(struct pg_foreign *foreign); /* takes NULL */

/* Whether the catalog need not be read: for an hour, so that a program that runs for weeks learns
 * of a change. */
bool pg_foreign_is_known(const struct pg_foreign *foreign);
/* Columns and is_joined are filled in: makes the names anew. schema is ours. */
void pg_foreign_settle(struct pg_foreign *foreign, const char *schema);
void pg_foreign_forget(struct pg_foreign *foreign); /* the catalog has changed: look again */

/* How the table names one of our holders ("host/pid/random"). */
void pg_foreign_holder(const struct pg_foreign *foreign, const char *holder,
                       char ret_holder[IDENTITY_HOLDER_MAX]);

/* The other way round, in place, where it is one of ours and whole; else nothing changes. */
void pg_foreign_show_holder(char *holder);
