/* SPDX-License-Identifier: ISC */
/* Statements for batches in which everything is plain: first attempts at keys that are new or were
 * released, releases with an outcome. Planning them costs half of what the whole statements of
 * pg_claim.c and pg_release.c do. A claim does all of it or nothing; whatever is not plain is the
 * whole statement's, as the next step. */
#pragma once
#include "store/postgresql/pg_ops.h"

bool pg_plain_fits_claim(const struct pg_task *task);
void pg_plain_build_claim(struct pg_task *task, int64_t not_after_us,
                          struct pg_statement *statement);
enum pg_next pg_plain_read_claim(struct pg_task *task, const PGresult *result);

bool pg_plain_fits_release(const struct pg_task *task);
void pg_plain_build_release(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_plain_read_release(struct pg_task *task, const PGresult *result);
