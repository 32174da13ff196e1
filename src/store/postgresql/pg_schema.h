/* SPDX-License-Identifier: ISC */
/* The tables, as rows that create them and that they are checked against. Objects are created when
 * they are missing and never altered. Another object is another row of the tables in pg_schema.c,
 * pg_functions.c and pg_rights.c. */
#pragma once
#include "base/error.h"
#include "base/text.h"
#include "store/postgresql/pg_facts.h"

#include <libpq-fe.h>
#include <stdbool.h>

#define PG_SCHEMA_VERSION     1 /* what this program creates, and the newest it knows */
#define PG_SCHEMA_VERSION_SQL "1"

/* Every way in which what is there is not what the statements need, apart from what is missing
 * altogether: another kind of relation, a column's type, a uniqueness that is not there, another
 * function. Each says what to do. */
void pg_schema_find_faults(const PGresult *facts, const char *schema, pg_fault_cb found,
                           void *owner);

/* The statements that create what is missing; all of them when facts is NULL. False when nothing
 * is. The text is one transaction for a simple query: no BEGIN, no COMMIT. */
bool pg_schema_add_script(const PGresult *facts, const char *schema, struct text *script);

/* The whole as a DBA wants to read it, with the grants. The caller frees. */
char *pg_schema_print(const char *schema);
