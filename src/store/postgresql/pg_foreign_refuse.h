/* SPDX-License-Identifier: ISC */
/* What another program's table cannot keep: keys that are too long for it, and, where our own
 * tables are not there, runs, slots and what succeeds once. */
#pragma once
#include "store/postgresql/pg_ops.h"

/* False, and err (ERROR_CONFIG). True as long as the catalog is not known. */
bool pg_foreign_refuse_check(const struct pg_task *task, struct error *err);

/* Of several claims that go together those that would be refused: a refusal is the whole request's.
 * They are raced, and refused when they come again, alone. */
void pg_foreign_refuse_leave_out(struct pg_task *task);
