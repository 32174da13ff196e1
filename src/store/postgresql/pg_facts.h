/* SPDX-License-Identifier: ISC */
/* What the server's catalog says about our schema, and about the server itself, in one statement.
 */
#pragma once
#include "base/error.h"

#include <libpq-fe.h>

/* Rows (what, name, part, detail). $1: the schema.
 *
 *   schema    S       ""                the schema is there
 *   owner     table   ""                role
 *   relation  name    ""                pg_class.relkind
 *   column    table   column            its type, and " C" for that collation
 *   unique    table   columns           a uniqueness that every statement may rely on
 *   index     table   index
 *   function  f(args) body, owner, settings, volatility, definer, language, returns
 *   right     name    the right         whether this role has it; name "schema" for the schema
 *   setting   name    ""                its value in this session */
extern const char pg_facts_sql[];

/* A fact's detail, NULL when there is none. part: "" where the kind of fact has none. */
const char *pg_facts_find(const PGresult *facts, const char *what, const char *name,
                          const char *part);

/* Who compares facts with what they should be tells each difference by one of these. */
typedef void (*pg_fault_cb)(void *owner, const struct error *fault);
