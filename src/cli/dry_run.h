/* SPDX-License-Identifier: ISC */
/* `run --dry-run`: looks at the lease and says what would happen now. Claims and writes nothing. */
#pragma once
#include "cli/commands.h"

/* Returns 0 when the command would be started, --held-exit when it would not, or a fault's. */
int dry_run(struct invocation *invocation);
