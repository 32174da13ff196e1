/* SPDX-License-Identifier: ISC */
#include "run/run_record.h"

#include "base/exit_code.h"

#include <signal.h>
#include <sys/wait.h>

static int status_of(const struct run_facts *facts)
{
    if (!facts->has_exited) /* its guard was killed, and it with it */
        return EXIT_SIGNAL_BASE + SIGKILL;
    if (WIFSIGNALED(facts->wait_status))
        return EXIT_SIGNAL_BASE + WTERMSIG(facts->wait_status);
    return WEXITSTATUS(facts->wait_status);
}

struct run_record run_record_of(const struct run_facts *facts)
{
    if (facts->is_not_started)
        return (struct run_record){OUTCOME_NOT_STARTED, -1, facts->not_started_exit};
    int status = status_of(facts);
    if (facts->is_lost)
        return (struct run_record){OUTCOME_LOST, status, EXIT_LOST};
    if (facts->is_timed_out)
        return (struct run_record){OUTCOME_TIMED_OUT, status, EXIT_TIMED_OUT};
    if (facts->is_stopped)
        return (struct run_record){OUTCOME_STOPPED, status, status};
    if (facts->has_guard_died && !facts->has_exited)
        return (struct run_record){OUTCOME_FAILED, status, status};
    return (struct run_record){status == 0 ? OUTCOME_SUCCEEDED : OUTCOME_FAILED, status, status};
}
