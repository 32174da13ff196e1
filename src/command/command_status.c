/* SPDX-License-Identifier: ISC */
#include "command/command_status.h"

#include "base/exit_code.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

int command_status_code(int wait_status)
{
    if (WIFSIGNALED(wait_status))
        return EXIT_SIGNAL_BASE + WTERMSIG(wait_status);
    return WEXITSTATUS(wait_status);
}

static const char *killer_clause(enum guard_killer killer)
{
    switch (killer) {
    case GUARD_KILLER_NONE:
        return ", not by leaserun";
    case GUARD_KILLER_STOP:
        return "";
    case GUARD_KILLER_DEADLINE:
        return " as its lease ran out";
    }
    return "";
}

void command_status_format(int wait_status, enum guard_killer killer, char *ret_text, size_t room)
{
    if (!WIFSIGNALED(wait_status)) {
        snprintf(ret_text, room, "exited with status %d", WEXITSTATUS(wait_status));
        return;
    }
    int number = WTERMSIG(wait_status);
    const char *name = sigabbrev_np(number);
    snprintf(ret_text, room, "was ended by signal %d%s%s%s%s%s", number, name ? " (" : "",
             name ? name : "", name ? ")" : "", WCOREDUMP(wait_status) ? " with a core dump" : "",
             killer_clause(killer));
}
