/* SPDX-License-Identifier: ISC */
#include "run/run_interrupt.h"

#include "base/exit_code.h"

#include <signal.h>
#include <sys/wait.h>

static bool is_of_terminal(int number)
{
    return number == SIGHUP || number == SIGINT || number == SIGQUIT;
}

void run_interrupt_note(struct run *run)
{
    int status = run->facts.wait_status;
    if (!run->terminal.is_given || run->state != RUN_RUNNING || !WIFSIGNALED(status))
        return;
    int number = WTERMSIG(status);
    if (!is_of_terminal(number) || (number == SIGHUP && !terminal_is_gone(&run->terminal)))
        return;
    run->is_interrupted = true;
    run->facts.is_stopped = true;
    run->stop_signal = number;
}

/* What leaserun's exit status stands for: the end of the command, or of the wait for the lease. */
static bool has_ended_by(const struct run *run, int number)
{
    int status = run->facts.wait_status;
    bool is_commands =
        !run->facts.has_exited || (WIFSIGNALED(status) && WTERMSIG(status) == number);
    return is_commands && run->exit_code == EXIT_SIGNAL_BASE + number;
}

void run_interrupt_repeat(const struct run *run)
{
    int number = run->stop_signal;
    if (!run->has_terminal || !is_of_terminal(number) || !has_ended_by(run, number))
        return;
    if (run->is_interrupted)
        kill(0, number); /* to us it is blocked */
    if (number == SIGHUP)
        return;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    signal(number, SIG_DFL);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}
