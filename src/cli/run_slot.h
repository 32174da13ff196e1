/* SPDX-License-Identifier: ISC */
/* `run --slot T JOB`: a slot of the job that passed without a start is made up for. */
#pragma once
#include "cli/options.h"
#include "run/run.h"

/* Asks the store what became of the slot and fills *spec: what nobody has started, be it recorded
 * as missed or skipped or not at all, is claimed as any other slot, whatever its window. Returns 0,
 * or the exit status once it was said why not: it was started, lies ahead, or is no slot of the
 * job. */
int run_slot_fill(struct invocation *invocation, struct run_spec *spec);
