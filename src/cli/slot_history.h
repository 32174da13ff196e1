/* SPDX-License-Identifier: ISC */
/* `history --slots JOB`: every slot of a job's schedule with what became of it. What the store does
 * not know of is told too: a slot that nobody tried, or that may still start. */
#pragma once
#include "cli/commands.h"

/* The operands are the job, then files and folders of the job table as `schedule` takes them.
 * Returns the exit status. */
int slot_history_list(struct invocation *invocation);
