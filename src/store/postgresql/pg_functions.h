/* SPDX-License-Identifier: ISC */
/* The functions that live beside the tables. Their bodies name everything with its schema, as our
 * statements do, and are compared to the letter with what the server has. */
#pragma once
#include "base/text.h"
#include "store/postgresql/pg_facts.h"

#include <libpq-fe.h>
#include <stdbool.h>

struct pg_function {
    const char *name;
    const char *arguments, *returned; /* types, as templates of pg_sql.h */
    const char *signature, *returns;  /* name(types) and type, as the catalog shows them */
    bool is_definer;                  /* runs with its owner's rights */
    const char *body;                 /* PL/pgSQL, a template of pg_sql.h */
};

/* In the order of their creation, after the tables. The last has no name. */
extern const struct pg_function pg_functions[];

bool pg_functions_is_missing(const PGresult *facts, const struct pg_function *function);

/* The statement that creates it, for its owner alone: PUBLIC may not call it. */
void pg_functions_add_sql(const struct pg_function *function, const char *schema,
                          struct text *script);

/* Whatever differs of those that are there: the body, the owner (who must be the tables'), the
 * settings, how it runs. Each fault says what to do. */
void pg_functions_find_faults(const PGresult *facts, const char *schema, pg_fault_cb found,
                              void *owner);
