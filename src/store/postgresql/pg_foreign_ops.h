/* SPDX-License-Identifier: ISC */
/* The operations on the table of another program.
 *
 * When our own tables are there too, an operation is done on both: our own statements first, as
 * ever, and then, for what they have granted, those on the other table. Both must grant. This order
 * is safe: a key that is won in our tables alone is won by nobody, since its claim goes on to the
 * other table or is undone; should leaserun die between, its guard frees both, or they run out. The
 * deadline counts from before the first of them. In this order, too, slot, fence and run are ours
 * before a foreign program is kept away, and the outcome is written before it may go on. */
#pragma once
#include "store/postgresql/pg_foreign.h"
#include "store/postgresql/pg_foreign_phase.h"
#include "store/postgresql/pg_ops.h"

/* The row of pg_ops with the functions for a task that has a foreign table. */
struct pg_op pg_foreign_op(enum store_kind kind);

/* The part of the task that its next statement, once checked, asks of our own tables; else NULL. */
const struct pg_task *pg_foreign_own_task(const struct pg_task *task);

/* For the files that hold the statements. */

void pg_foreign_look_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_foreign_look_read(struct pg_task *task, const PGresult *result, struct error *err);
/* Slots and what succeeds once are judged by our own tables, whoever holds the key. */
bool pg_foreign_is_judged_by_own(const struct claim_item *item);

void pg_foreign_claim_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_foreign_claim_read(struct pg_task *task, const PGresult *result, struct error *err);

void pg_foreign_renew_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_foreign_renew_read(struct pg_task *task, const PGresult *result, struct error *err);
/* What our own tables have not renewed is not renewed in the other either. */
bool pg_foreign_is_to_renew(const struct pg_task *task, const struct renew_item *item);

void pg_foreign_release_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_foreign_release_read(struct pg_task *task, const PGresult *result,
                                     struct error *err);
/* A mandate that is not ours in our own tables is left alone in the other. */
bool pg_foreign_is_to_release(const struct pg_task *task, const struct release_item *item);
void pg_foreign_revoke_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_foreign_revoke_read(struct pg_task *task, const PGresult *result,
                                    struct error *err);

void pg_foreign_status_build(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_foreign_status_read(struct pg_task *task, const PGresult *result,
                                    struct error *err);

/* From the facts; and once our own tables have been inspected, or are not there. */
void pg_foreign_inspect_begin(struct pg_task *task, const PGresult *facts);
void pg_foreign_inspect_end(struct pg_task *task);
