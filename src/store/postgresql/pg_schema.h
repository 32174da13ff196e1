/* SPDX-License-Identifier: ISC */
/* The tables, as rows that create them and that they are checked against. Objects are created when
 * they are missing and never altered. Another object (a function, a further table) is another row
 * of the tables in pg_schema.c. */
#pragma once
#include "base/error.h"
#include "base/text.h"

#include <libpq-fe.h>
#include <stdbool.h>

#define PG_SCHEMA_VERSION 1 /* what this program creates, and the newest it knows */

/* One statement that reads the catalog: rows (what, name, part, detail). $1: the schema. */
extern const char pg_schema_facts_sql[];

/* A fact's detail, NULL when there is none. part: "" where the kind of fact has none. */
const char *pg_schema_fact(const PGresult *facts, const char *what, const char *name,
                           const char *part);

/* Every way in which what is there is not what the statements need, apart from what is missing
 * altogether: another kind of relation, a column's type, a uniqueness that is not there. */
typedef void (*pg_schema_fault_cb)(void *owner, const struct error *fault);
void pg_schema_find_faults(const PGresult *facts, const char *schema, pg_schema_fault_cb found,
                           void *owner);

/* The statements that create what is missing; all of them when facts is NULL. False when nothing
 * is. The text is one transaction for a simple query: no BEGIN, no COMMIT. */
bool pg_schema_add_script(const PGresult *facts, const char *schema, struct text *script);

/* The whole as a DBA wants to read it, with the grants. The caller frees. */
char *pg_schema_print(const char *schema);

/* The tables whose rights are needed, in order, NULL after the last. */
extern const char *const pg_schema_tables[];
