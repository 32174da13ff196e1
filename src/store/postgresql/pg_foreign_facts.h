/* SPDX-License-Identifier: ISC */
/* What the catalog says about the table of another program. Nothing is altered: what is missing is
 * told, with what its owner can do. */
#pragma once
#include "store/postgresql/pg_foreign.h"
#include "store/postgresql/pg_query.h"

#include <libpq-fe.h>

void pg_foreign_facts_build(const struct pg_foreign *foreign, const char *schema,
                            struct pg_statement *statement);

/* Every fault is told; without any the table is known (pg_foreign_settle). */
typedef void (*pg_foreign_fault_cb)(void *owner, const struct error *fault);
void pg_foreign_facts_read(struct pg_foreign *foreign, const char *schema, const PGresult *facts,
                           pg_foreign_fault_cb fault, void *owner);

/* What is good to know of a table without fault, one line each; the caller frees. NULL: no more. */
char *pg_foreign_facts_note(const struct pg_foreign *foreign, const char *schema,
                            const PGresult *facts, int number);

/* The version of the server, and whether our schema is there at all. */
const char *pg_foreign_facts_version(const PGresult *facts);
bool pg_foreign_facts_has_schema(const PGresult *facts);
