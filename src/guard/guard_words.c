/* SPDX-License-Identifier: ISC */
#include "guard/guard_words.h"

#include "guard/guard_command.h"
#include "guard/guard_link.h"
#include "guard/guard_tree.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* What is the command's alone: a reader at the other end sees the command's end, not ours. */
static void let_go_of_given(struct guard *guard)
{
    fds_let_go(&guard->given);
    guard_setup_let_go(&guard->setup);
}

static void on_hold(struct guard *guard, const struct guard_message *message)
{
    memcpy(guard->holder, message->holder, sizeof guard->holder);
    memcpy(guard->unstarted, message->run_id, sizeof guard->unstarted);
    guard->unstarted[sizeof guard->unstarted - 1] = '\0';
}

static void on_deadline(struct guard *guard, const struct guard_message *message)
{
    guard->due_boot_ms[GUARD_INSTANT_LEASE_TERM] = message->term_at_boot_ms;
    guard->due_boot_ms[GUARD_INSTANT_LEASE_KILL] = message->kill_at_boot_ms;
}

static void on_start(struct guard *guard, const struct guard_message *message)
{
    if (guard->phase != GUARD_PHASE_WAITING || getppid() != guard->leaserun)
        return;
    guard_link_tell(guard->arguments.socket_fd, &(struct guard_message){.kind = GUARD_HEARD});
    guard_arguments_show_fence(&guard->arguments, message->fence);
    guard->leftovers = message->leftovers;
    guard->grace_ms = message->grace_ms;
    on_deadline(guard, message);
    guard->unstarted[0] = '\0';
    guard_tree_start(guard, message);
    let_go_of_given(guard);
}

static void on_signal(struct guard *guard, const struct guard_message *message)
{
    if (guard->ending.group != 0)
        kill(-guard->ending.group, message->number);
}

static void on_stop(struct guard *guard, const struct guard_message *message)
{
    guard->is_stopping = true;
    if (!guard_tree_exists(guard))
        return;
    if (guard->due_boot_ms[GUARD_INSTANT_STOP_KILL] > message->kill_at_boot_ms)
        guard->due_boot_ms[GUARD_INSTANT_STOP_KILL] = message->kill_at_boot_ms;
    if (message->number == 0)
        return;
    /* The lease's own SIGTERM may have come first, and a second one would hasten many programs. */
    bool is_told = message->number == SIGTERM && guard->killer == GUARD_KILLER_DEADLINE &&
                   guard->ending.is_group_told;
    guard_tree_blame(guard, GUARD_KILLER_STOP);
    if (guard->phase == GUARD_PHASE_CLEARING)
        guard_ending_term(&guard->ending);
    else if (!is_told)
        guard_ending_signal_group(&guard->ending, message->number);
}

static void on_continue(struct guard *guard, const struct guard_message *message)
{
    guard_tree_do_due(guard); /* not one instruction of the command past the deadline */
    guard->is_paused = false;
    guard->continue_count++;
    if (guard->ending.group == 0 || guard->ending.is_killing)
        return;
    if (message->is_foreground)
        guard_command_give_terminal(guard->ending.group);
    kill(-guard->ending.group, SIGCONT);
}

static void on_pause(struct guard *guard, const struct guard_message *message)
{
    guard->is_paused = true;
}

static void on_dismiss(struct guard *guard, const struct guard_message *message)
{
    guard->holder[0] = '\0';
}

static void (*const on_kind[])(struct guard *guard, const struct guard_message *message) = {
    [GUARD_HOLD] = on_hold,     [GUARD_START] = on_start,     [GUARD_DEADLINE] = on_deadline,
    [GUARD_SIGNAL] = on_signal, [GUARD_STOP] = on_stop,       [GUARD_CONTINUE] = on_continue,
    [GUARD_PAUSE] = on_pause,   [GUARD_DISMISS] = on_dismiss,
};

void guard_words_read(struct guard *guard)
{
    struct guard_message message;
    enum guard_link_heard heard;
    while ((heard = guard_link_hear(guard->arguments.socket_fd, &message)) == GUARD_LINK_MESSAGE)
        if (message.kind <= GUARD_DISMISS)
            on_kind[message.kind](guard, &message);
    if (heard == GUARD_LINK_CLOSED) {
        guard->is_orphaned = true;
        let_go_of_given(guard);
        guard_tree_kill(guard, GUARD_KILLER_NONE);
    }
}
