/* SPDX-License-Identifier: ISC */
/* `run --slot T JOB`: a slot of the job that passed without a start is made up for. */
#pragma once
#include "cli/options.h"
#include "run/run.h"

/* Asks the store what became of the slot and fills *spec: a slot that nobody has recorded is
 * claimed as any other, whatever its window; of one that is recorded as missed or skipped the
 * record stands, and the command is told of the slot alone (in ret_text, which *spec borrows).
 * Returns 0, or the exit status once it was said why not: it was started, lies ahead, or is no slot
 * of the job. */
int run_slot_fill(struct invocation *invocation, struct run_spec *spec,
                  char ret_text[TIME_TEXT_MAX]);
