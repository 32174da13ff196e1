/* SPDX-License-Identifier: ISC */
#include "guard/guard_tree.h"

#include "base/now.h"
#include "guard/guard_command.h"
#include "guard/guard_link.h"
#include "guard/processes.h"
#include "guard/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long what the command has left may take to end by itself (a `tee` that empties its pipe)
 * before it is told to. */
#define SETTLE_MS 100

/* How long after the lease's deadline a leaserun may stay silent. Well within the margin between
 * that and the lease's expiry. */
#define SILENCE_MS 200

/* A leaserun that is gone or does not read changes nothing about what must be done. */
static void tell(const struct guard *guard, const struct guard_message *message)
{
    guard_link_tell(guard->arguments.socket_fd, message);
}

bool guard_tree_exists(const struct guard *guard)
{
    return guard->phase != GUARD_PHASE_WAITING && guard->phase != GUARD_PHASE_EMPTY;
}

void guard_tree_blame(struct guard *guard, enum guard_killer killer)
{
    if (guard->killer == GUARD_KILLER_NONE)
        guard->killer = killer;
}

void guard_tree_kill(struct guard *guard, enum guard_killer killer)
{
    if (!guard_tree_exists(guard))
        return;
    guard_tree_blame(guard, killer);
    guard->due_boot_ms[GUARD_INSTANT_SWEEP] = now_boot_ms() + guard_ending_kill(&guard->ending);
}

static void become_empty(struct guard *guard)
{
    guard->phase = GUARD_PHASE_EMPTY;
    tell(guard, &(struct guard_message){.kind = GUARD_EMPTY, .killer = guard->killer});
}

static void tell_not_started(struct guard *guard, int errno_value, enum guard_stage stage)
{
    struct guard_message message = {
        .kind = GUARD_NOT_STARTED, .number = errno_value, .stage = stage};
    snprintf(message.text, sizeof message.text, "%s", guard->arguments.command[0]);
    tell(guard, &message);
    become_empty(guard);
}

void guard_tree_start(struct guard *guard, const struct guard_message *start)
{
    if (now_boot_ms() >= start->kill_at_boot_ms) {
        tell_not_started(guard, ETIMEDOUT, GUARD_STAGE_FORK);
        return;
    }
    guard->command =
        guard_command_fork(guard->arguments.command, start, &guard->setup, &guard->fault_fd);
    if (guard->command < 0) {
        tell_not_started(guard, errno, GUARD_STAGE_FORK);
        return;
    }
    guard->ending.group = guard->command;
    guard->phase = GUARD_PHASE_STARTING;
}

void guard_tree_on_fault(struct guard *guard)
{
    struct guard_command_fault fault;
    ssize_t got = read(guard->fault_fd, &fault, sizeof fault);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    close(guard->fault_fd);
    guard->fault_fd = -1;
    if (got == (ssize_t)sizeof fault) {
        waitpid(guard->command, NULL, 0);
        guard->ending.group = 0;
        tell_not_started(guard, fault.errno_value, fault.stage);
        return;
    }
    guard->phase = GUARD_PHASE_RUNNING;
    tell(guard, &(struct guard_message){.kind = GUARD_STARTED, .pid = guard->command});
    if (guard->early_stop != 0)
        kill(-guard->command, guard->early_stop);
}

/* Not yet the command, so nobody knows it; stopped now, it would become it only once continued. It
 * is stopped as soon as it is. */
static void put_stop_off(struct guard *guard, int number)
{
    guard->early_stop = number == SIGSTOP ? 0 : number;
    kill(-guard->command, SIGCONT);
}

static void on_command_changed(struct guard *guard, int status)
{
    if (WIFSTOPPED(status)) {
        tell(guard, &(struct guard_message){.kind = GUARD_STOPPED,
                                            .number = WSTOPSIG(status),
                                            .pid = guard->continue_count});
        return;
    }
    guard->phase = GUARD_PHASE_CLEARING;
    guard->ending.group = 0;
    guard->due_boot_ms[GUARD_INSTANT_LEFTOVERS_TERM] = now_boot_ms() + SETTLE_MS;
    tell(guard,
         &(struct guard_message){.kind = GUARD_EXITED, .status = status, .killer = guard->killer});
}

/* Reaps what has ended, the command or orphans that came to us. False when no child is left. */
static bool reap(struct guard *guard)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);
        if (pid <= 0)
            return pid == 0 || errno != ECHILD;
        if (pid == guard->command && guard->phase == GUARD_PHASE_STARTING)
            guard_tree_on_fault(guard); /* whether it was the command that ended */
        if (pid == guard->command && guard->phase == GUARD_PHASE_RUNNING)
            on_command_changed(guard, status);
        else if (pid == guard->command && WIFSTOPPED(status))
            put_stop_off(guard, WSTOPSIG(status));
    }
}

void guard_tree_on_children(struct guard *guard)
{
    struct signalfd_siginfo info;
    while (read(guard->child_fd, &info, sizeof info) == (ssize_t)sizeof info)
        continue;
    bool has_children = reap(guard);
    bool is_left = guard->leftovers == GUARD_LEFTOVERS_LEAVE && !guard->ending.is_killing;
    if (guard->phase == GUARD_PHASE_CLEARING && (!has_children || is_left))
        become_empty(guard);
    else if (guard->ending.is_killing)
        guard_tree_kill(guard, GUARD_KILLER_NONE);
}

static bool is_leaserun_stopped(const struct guard *guard)
{
    struct process process;
    return getppid() == guard->leaserun && process_read("/proc", guard->leaserun, &process) &&
           process.state == 'T';
}

static void kill_leaserun(struct guard *guard)
{
    if (!guard->is_paused && !guard->is_orphaned && guard->holder[0] != '\0')
        pidfd_send_signal(guard->leaserun_pidfd, SIGKILL, NULL, 0);
}

/* Past the deadline nothing may run that believes in the lease, and a stopped leaserun must not
 * sit on a file's lock. One that has asked for the end itself lives on to tell of it. */
static void on_lease_kill(struct guard *guard)
{
    if (guard_tree_exists(guard))
        guard->due_boot_ms[GUARD_INSTANT_LEASERUN_KILL] = now_boot_ms() + SILENCE_MS;
    guard_tree_kill(guard, GUARD_KILLER_DEADLINE);
    if (is_leaserun_stopped(guard))
        kill_leaserun(guard);
}

static void on_leaserun_kill(struct guard *guard)
{
    if (!guard->is_stopping || is_leaserun_stopped(guard))
        kill_leaserun(guard);
}

static void on_stop_kill(struct guard *guard)
{
    guard_tree_kill(guard, GUARD_KILLER_STOP);
}

static void on_lease_term(struct guard *guard)
{
    if (!guard_tree_exists(guard))
        return;
    guard_tree_blame(guard, GUARD_KILLER_DEADLINE);
    guard_ending_term(&guard->ending);
}

static void on_leftovers_term(struct guard *guard)
{
    if (guard->phase != GUARD_PHASE_CLEARING || guard->ending.is_killing)
        return;
    struct guard_message message = {.kind = GUARD_LEFTOVERS};
    message.pid = (int32_t)tree_describe(message.text, sizeof message.text, NULL, 0);
    if (message.pid > 0)
        tell(guard, &message);
    if (guard->leftovers == GUARD_LEFTOVERS_WAIT && !guard->is_stopping)
        return;
    guard_ending_term(&guard->ending);
    if (__builtin_add_overflow(now_boot_ms(), guard->grace_ms,
                               &guard->due_boot_ms[GUARD_INSTANT_LEFTOVERS_KILL]))
        guard->due_boot_ms[GUARD_INSTANT_LEFTOVERS_KILL] = GUARD_NEVER;
}

static void on_kill_again(struct guard *guard)
{
    guard_tree_kill(guard, GUARD_KILLER_NONE);
}

static void (*const on_instant[GUARD_INSTANT_COUNT])(struct guard *guard) = {
    [GUARD_INSTANT_LEASE_KILL] = on_lease_kill,
    [GUARD_INSTANT_STOP_KILL] = on_stop_kill,
    [GUARD_INSTANT_LEASE_TERM] = on_lease_term,
    [GUARD_INSTANT_LEFTOVERS_TERM] = on_leftovers_term,
    [GUARD_INSTANT_LEFTOVERS_KILL] = on_kill_again,
    [GUARD_INSTANT_SWEEP] = on_kill_again,
    [GUARD_INSTANT_LEASERUN_KILL] = on_leaserun_kill,
};

void guard_tree_do_due(struct guard *guard)
{
    for (int i = 0; i < GUARD_INSTANT_COUNT; i++)
        if (guard->due_boot_ms[i] <= now_boot_ms()) {
            guard->due_boot_ms[i] = GUARD_NEVER;
            on_instant[i](guard);
        }
}
