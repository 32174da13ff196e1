/* SPDX-License-Identifier: ISC */
/* Short statements for the commonest claim and release: one key, no slot, nothing to recover. Each
 * either does all of it or nothing; then the whole statement of pg_claim.c or pg_release.c is the
 * next step and judges. */
#pragma once
#include "store/postgresql/pg_ops.h"

bool pg_quick_fits_claim(const struct pg_task *task);
void pg_quick_build_claim(struct pg_task *task, int64_t not_after_us,
                          struct pg_statement *statement);
enum pg_next pg_quick_read_claim(struct pg_task *task, const PGresult *result);

bool pg_quick_fits_release(const struct pg_task *task);
void pg_quick_build_release(struct pg_task *task, struct pg_statement *statement);
enum pg_next pg_quick_read_release(struct pg_task *task, const PGresult *result);
