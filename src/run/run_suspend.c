/* SPDX-License-Identifier: ISC */
#include "run/run_suspend.h"

#include "base/now.h"
#include "run/run_tell.h"

#include <signal.h>

/* How soon to look again whether the claim that is out was answered: this process must not stop
 * while it may hold a file's lock. */
#define LOOK_AGAIN_MS 10

static void resume(struct run *run)
{
    /* The guard has ended the tree by now if the lease ran out: this is for the telling. */
    if (now_boot_ms() >= lease_term_boot_ms(&run->lease))
        return;
    bool is_wanted = run->wants_terminal || terminal_should_give(&run->terminal);
    if (is_wanted && terminal_is_ours(&run->terminal))
        terminal_give(&run->terminal);
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

/* Whether the terminal has to do with a stop of the command. su(1), for one, stops itself by
 * SIGSTOP when Ctrl-Z has stopped what it runs. */
static bool is_terminals(const struct run *run, int number)
{
    if (number == SIGSTOP)
        return terminal_is_at(&run->terminal, (pid_t)run->command_pid);
    return run->terminal.fd >= 0;
}

/* Ended while it is stopped, a command that cleans up would not get to it; and where nobody can
 * continue us, the terminal would not have stopped the command in our place. */
static bool may_stay_stopped(const struct run *run)
{
    return run->state == RUN_RUNNING && terminal_can_stop_self();
}

void run_suspend_on_stopped(void *owner, int number)
{
    struct run *run = owner;
    bool wants_terminal = number == SIGTTIN || number == SIGTTOU;
    if (!is_terminals(run, number))
        return;
    run->wants_terminal |= wants_terminal;
    if (wants_terminal && terminal_is_ours(&run->terminal))
        terminal_give(&run->terminal);
    else if (may_stay_stopped(run)) {
        terminal_take_back(&run->terminal, (pid_t)run->command_pid);
        run_tell_suspended(run, number);
        run->is_suspending = true;
        run_suspend_when_quiet(run);
        return;
    } else if (wants_terminal) {
        return; /* it would ask again at once, and for ever */
    }
    command_continue(run->command, run->terminal.is_given);
}

void run_suspend_on_asked(struct run *run)
{
    if (run_has_command(run))
        command_signal(run->command, SIGTSTP);
    else if (run->state == RUN_CLAIMING && (run->claim.is_asking || run->claim.is_giving_back))
        alarm_set_in(&run->suspend_again, LOOK_AGAIN_MS);
    else if (run->state == RUN_CLAIMING)
        terminal_stop_self();
}

void run_suspend_on_continued(struct run *run)
{
    run->is_suspending = false;
    if (run_has_command(run))
        resume(run);
}
