/* SPDX-License-Identifier: ISC */
/* One row per operation: how its statement is built and its answer read. The rows, and their
 * statements, stand in the order of enum store_kind, as they do for SQLite. */
#pragma once
#include "base/error.h"
#include "base/text.h"
#include "store/postgresql/pg_query.h"
#include "store/postgresql/pg_server.h"
#include "store/store.h"

#include <libpq-fe.h>

struct pg_foreign;
struct pg_foreign_work;
struct pg_prepared;
struct pg_sql_name;
struct pg_wait;

/* A request on its way. */
struct pg_task {
    struct store_request *request;
    const char *schema;
    const struct pg_server *server;
    const PGconn *conn;
    int step;             /* of operations with several statements, from 0 */
    bool skips_locked;    /* a batch in which a row is locked: the others go on without it */
    int64_t limit_ms;     /* what is left of the request's limit when the statement is built */
    struct pg_wait *wait; /* the connection's; NULL: there is none to listen on */
    int wait_step;        /* of a claim that was HELD (pg_wait.h) */
    struct pg_prepared *prepared; /* the connection's; NULL: none */
    struct pg_foreign *foreign;   /* the table of another program; NULL: none */
    struct pg_foreign_work *work; /* on it; freed by pg_ops_done */
    struct text script;           /* INIT: what is to be run. Freed by pg_ops_done */
};

enum pg_next {
    PG_NEXT_DONE,   /* the answer is in the request */
    PG_NEXT_STEP,   /* build and send the next statement */
    PG_NEXT_FAILED, /* err says why; the failure is FAILURE_SCHEMA */
};

struct pg_op {
    const char *name; /* for sentences: "the claim" */
    bool writes;      /* a reply with a warning is in doubt */
    /* Before each statement (NULL: nothing ever): false, and err, when the request is refused. */
    bool (*check)(struct pg_task *task, struct error *err);
    void (*build)(struct pg_task *task, struct pg_statement *statement);
    enum pg_next (*read)(struct pg_task *task, const PGresult *result, struct error *err);
    /* Whether a refused statement has another way (NULL: never): chosen, and built as the next
     * step. */
    bool (*take_other_way)(struct pg_task *task, const char *sqlstate);
};

extern const struct pg_op pg_ops[STORE_KIND_COUNT];

void pg_ops_done(struct pg_task *task);

/* For the files that hold the rows.
 *
 * Statements for many keys begin alike: settings, given (the arrays, as columns), item or look (a
 * row for each key). Since given is a table to the planner, it knows nothing of the arrays' lengths
 * and expects few rows, which it looks up by index. If it knew that there are 100 it would rather
 * read a whole table of some thousand runs, or take the time to compile the statement. The arrays
 * are unnested side by side, in the list of a SELECT: in its FROM each would first be stored. (Of
 * generate_subscripts the planner expects a thousand rows.) */

/* The advisory lock (transaction level) of init and purge: "leaserun" as a number. */
#define PG_OPS_UPKEEP_LOCK "7810756276995126638"

/* $1 of #settings: a part of the request's limit, 50 ms to 1 s, to 200 ms while others wait. */
char *pg_ops_lock_timeout(const struct pg_task *task);
/* The text of an array, handed over; the text is empty after. */
char *pg_ops_take_array(struct text *array);

void pg_claim_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_claim_read(struct pg_task *task, const PGresult *result, struct error *err);
bool pg_claim_take_other_way(struct pg_task *task, const char *sqlstate);

void pg_renew_build(struct pg_task *task, struct pg_statement *statement);
void pg_renew_read_item(struct renew_item *item, const PGresult *result, int row);
enum pg_next pg_renew_read(struct pg_task *task, const PGresult *result, struct error *err);
bool pg_renew_take_other_way(struct pg_task *task, const char *sqlstate);

void pg_release_build(struct pg_task *task, struct pg_statement *statement);
/* The names of statements that write the outcomes of many, from the columns of item: run ids are
 * $5. Where any item has a tail of output, %output_tail assigns it from $8, which is added behind
 * the others; where none has it is nothing, and the statement costs what it did without. */
const struct pg_sql_name *pg_release_names(const struct pg_task *task);
void pg_release_add_output_tails(const struct pg_task *task, struct pg_statement *statement);
void pg_undo_build(struct pg_task *task, struct pg_statement *statement);
void pg_free_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_release_read(struct pg_task *task, const PGresult *result, struct error *err);
void pg_revoke_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_revoke_read(struct pg_task *task, const PGresult *result, struct error *err);

void pg_status_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_status_read(struct pg_task *task, const PGresult *result, struct error *err);
void pg_history_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_history_read(struct pg_task *task, const PGresult *result, struct error *err);
void pg_recall_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_recall_read(struct pg_task *task, const PGresult *result, struct error *err);
void pg_purge_build(struct pg_task *task, struct pg_statement *statement);
void pg_forget_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_purge_read(struct pg_task *task, const PGresult *result, struct error *err);

void pg_init_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_init_read(struct pg_task *task, const PGresult *result, struct error *err);
void pg_inspect_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_inspect_read(struct pg_task *task, const PGresult *result, struct error *err);
