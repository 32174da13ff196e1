/* SPDX-License-Identifier: ISC */
/* The functions of command/command.h without processes: every call stands in the journal, and a
 * test says what the guard tells. Also fds_let_go, which would take the test's own stdout. */
#pragma once
#include "command/command.h"

/* The next command_open fails with this fault when it is not NULL. */
void fake_command_reset(const char *open_fault);

/* The command is between command_open and the end of command_close. */
bool fake_command_is_open(void);

/* What the guard tells, by its listener. */
void fake_command_started(int64_t pid);
void fake_command_not_started(int exit_code, const char *why);
void fake_command_stopped(int number);
void fake_command_exited(int wait_status, enum guard_killer killer);
void fake_command_leftovers(int count, const char *names);
void fake_command_guard_died(void);
void fake_command_empty(enum guard_killer killer);
