/* SPDX-License-Identifier: ISC */
/* How a command ended: a status of waitpid(2) as an exit status and as words. */
#pragma once
#include "guard/guard_protocol.h"

#include <stddef.h>

/* The command's own exit status, or 128 + the signal's number. */
int command_status_code(int wait_status);

/* "exited with status 3", "was ended by signal 9 (KILL), not by leaserun". */
void command_status_format(int wait_status, enum guard_killer killer, char *ret_text, size_t room);
