/* SPDX-License-Identifier: ISC */
/* Starting a guard: its program, its arguments, the descriptors that are only for it. */
#pragma once
#include "command/command_output.h"

#include <sys/types.h>

struct command_link {
    pid_t guard;
    int socket_fd; /* the guard has the only other end: at end of file it has ended */
};

/* On success the caller owns the socket and must reap the guard; on failure nothing is left
 * behind. The ends of output stay the caller's. */
bool command_link_open(struct command_link *ret_link, const struct command_spec *spec,
                       const struct command_output_ends *output, struct error *err);
