/* SPDX-License-Identifier: ISC */
/* What the guard of a command tells, what its silence means, and what is done once it is gone. */
#pragma once
#include "command/command_state.h"

/* A guard that cannot be told is as good as dead; the end of the socket tells when it is. */
void command_guard_tell(struct command *command, const struct guard_message *message);

/* Told to start, and not known to have nothing left. */
bool command_guard_has_tree(const struct command *command);

/* Sets the silence alarm anew, after an instant that it depends on has moved. */
void command_guard_watch_silence(struct command *command);

/* What leaserun itself says of a command whose guard never heard of it. */
void command_guard_refuse_start(struct command *command);
void command_guard_become_empty(struct command *command, enum guard_killer killer);

/* The callbacks of command->socket, silence and sweep. */
void command_guard_on_socket(struct watch *watch);
void command_guard_on_silence(struct alarm *alarm);
void command_guard_on_sweep(struct alarm *alarm);

/* The guard has ended, or is no business of ours any more: closes all that is open. */
void command_guard_finish_close(struct command *command);
