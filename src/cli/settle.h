/* SPDX-License-Identifier: ISC */
/* Between what was typed and what is done: the files are read, and every fault in them told. Both
 * return 0, or the exit status. */
#pragma once
#include "cli/options.h"

/* leaserun.ini, and over it what was typed. */
int settle(struct options *options);

/* For run: fills invocation->job from what was typed, or from the table that has the job. */
int settle_run(struct invocation *invocation);
