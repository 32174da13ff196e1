/* SPDX-License-Identifier: ISC */
/* What the tables themselves say of whether they may be used: the schema's version, and a sequence
 * that stands behind the fences it has given. */
#pragma once
#include "store/postgresql/pg_facts.h"

/* One row; for a schema in which nothing is missing. */
extern const char pg_state_sql[];
/* The same with the version alone: of a schema that may lack other tables. */
extern const char pg_state_version_sql[];

/* Reads either: what is wrong, and what to do. */
void pg_state_find_faults(const PGresult *result, const char *schema, pg_fault_cb found,
                          void *owner);
