/* SPDX-License-Identifier: ISC */
/* Statements for many keys that a connection sends again and again: parsing and planning them is a
 * third of what they cost. From the third time on they are prepared, under a name that is made of
 * their own text, so that no name ever means another statement.
 *
 * Nothing relies on it. Behind a pooler nothing is prepared; a statement that the server does not
 * know (any more) has done nothing, and is sent whole, as are all after it on that connection. The
 * server keeps a plan until statistics change; ours are made anew whenever the number of uses has
 * doubled, so that no plan for an empty table outlives it where nobody makes statistics. */
#pragma once
#include "store/postgresql/pg_ops.h"

#include <stdbool.h>

#define PG_PREPARED_MAX 6

enum pg_prepared_question {
    PG_PREPARED_NOTHING,
    PG_PREPARED_ROUTE, /* is this the server itself? */
    PG_PREPARED_MAKE,
    PG_PREPARED_REPLAN,
};

struct pg_prepared_one {
    const char *template; /* as written in the sources, with its names: which one this is */
    const struct pg_sql_name *names;
    enum store_kind kind; /* of the requests that use it */
    int64_t use_count;
    char name[32]; /* "": not prepared */
};

struct pg_prepared { /* of one connection; zeroed for a new one */
    struct pg_prepared_one all[PG_PREPARED_MAX];
    enum pg_prepared_question question; /* on its way */
    bool is_used;                       /* by the statement on its way */
    bool is_given_up;
    int64_t use_count; /* of those that are prepared */
    int64_t replan_at; /* so many uses */
};

/* The statement of a template and its names (pg_sql_expand_names; both live as long as the
 * program), by its own name when it is prepared; the parameters are the caller's. */
void pg_prepared_write(struct pg_task *task, const char *template, const struct pg_sql_name *names,
                       struct pg_statement *statement);

/* Whether something is to be sent before the task's statement, which is then built; its answer, a
 * fault too, is read. */
bool pg_prepared_asks(struct pg_task *task);
void pg_prepared_build(struct pg_task *task, struct pg_statement *statement);
void pg_prepared_read(struct pg_task *task, const PGresult *result);

/* Whether the statement was refused because it was sent by its name: it is to be built again. */
bool pg_prepared_was_lost(struct pg_task *task, const char *sqlstate);
