/* SPDX-License-Identifier: ISC */
/* Which hook of a run's job is due, and with what facts. Nothing for a run without hooks
 * (spec.hooks). */
#pragma once
#include "run/run.h"

/* The claim was answered: what it told of a slot that nobody has started, or of a run before. */
void run_hooks_on_claim(struct run *run, enum claim_result result);

/* The run has ended and its lease is not ours any more. is_ours: it was ours until we gave it
 * back. */
void run_hooks_on_end(struct run *run, bool is_ours);
