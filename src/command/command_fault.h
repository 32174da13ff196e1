/* SPDX-License-Identifier: ISC */
/* Why a command could not be started, in a sentence, and the exit status that shells and env(1)
 * give for it: 127 when there is no such program, 126 when there is but it cannot be executed,
 * 71 when the system refused before that. */
#pragma once
#include "base/error.h"
#include "command/command_plan.h"
#include "guard/guard_protocol.h"

/* PATH of the plan's environment was searched. The files are looked at now, as the current process
 * sees them. */
int command_fault_explain(const struct guard_message *not_started, const struct command_plan *plan,
                          struct error *ret_why);
