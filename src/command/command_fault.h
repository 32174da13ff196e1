/* SPDX-License-Identifier: ISC */
/* Why a command could not be started, in a sentence, and the exit status that shells and env(1)
 * give for it: 127 when there is no such program, 126 when there is but it cannot be executed,
 * 71 when the system refused before that. */
#pragma once
#include "base/error.h"
#include "guard/guard_protocol.h"

/* program is the command's first word, environment what it was to get: its PATH was searched. The
 * files are looked at now, as the current process sees them. */
int command_fault_explain(const struct guard_message *not_started, const char *program,
                          char *const *environment, struct error *ret_why);
