/* SPDX-License-Identifier: ISC */
/* The claim that takes an interrupted run over: one item, whose answer pg_claim.c reads. */
#pragma once
#include "store/postgresql/pg_ops.h"

bool pg_takeover_fits(const struct pg_task *task);
void pg_takeover_build(struct pg_task *task, int64_t not_after_us, struct pg_statement *statement);
