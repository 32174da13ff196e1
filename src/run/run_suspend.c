/* SPDX-License-Identifier: ISC */
#include "run/run_suspend.h"

#include "base/now.h"
#include "run/run_tell.h"

#include <signal.h>

static void resume(struct run *run)
{
    /* The guard has ended the tree by now if the lease ran out: this is for the telling. */
    if (now_boot_ms() >= lease_term_boot_ms(&run->lease))
        return;
    run->terminal.is_given = terminal_is_ours(&run->terminal);
    command_continue(run->command, run->terminal.is_given);
    renew_now(&run->renew);
}

void run_suspend_when_quiet(struct run *run)
{
    if (!run->is_suspending || renew_is_asking(&run->renew))
        return;
    run->is_suspending = false;
    if (run->state != RUN_RUNNING) /* it is being ended: that goes on */
        return;
    command_pause(run->command);
    terminal_stop_self();
    resume(run);
}

void run_suspend_on_stopped(void *owner, int number)
{
    struct run *run = owner;
    bool wants_terminal = number == SIGTTIN || number == SIGTTOU;
    if (run->terminal.fd < 0 || number == SIGSTOP || run->state != RUN_RUNNING)
        return;
    if (wants_terminal && terminal_is_ours(&run->terminal)) {
        run->terminal.is_given = true;
        command_continue(run->command, true);
        return;
    }
    terminal_take_back(&run->terminal, (pid_t)run->command_pid);
    run_tell_suspended(run, number);
    run->is_suspending = true;
    run_suspend_when_quiet(run);
}

void run_suspend_on_continued(struct run *run)
{
    if (run_has_command(run))
        resume(run);
}
