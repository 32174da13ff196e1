/* SPDX-License-Identifier: ISC */
/* What the tables themselves say of whether they may be used: the schema's version, and a sequence
 * that stands behind the fences it has given. */
#pragma once
#include "store/postgresql/pg_facts.h"

#include <stdbool.h>

/* One row; for a schema in which nothing is missing. */
extern const char pg_state_sql[];
/* The same with the version alone: of a schema that may lack other tables. */
extern const char pg_state_version_sql[];

/* Whether this program may use it, by either: a newer program says so in oldest_reader. */
bool pg_state_is_readable(const PGresult *result, const char *schema, struct error *err);

/* Reads either: what is wrong, and what to do. */
void pg_state_find_faults(const PGresult *result, const char *schema, pg_fault_cb found,
                          void *owner);
