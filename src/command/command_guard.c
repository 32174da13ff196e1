/* SPDX-License-Identifier: ISC */
#include "command/command_guard.h"

#include "base/exit_code.h"
#include "base/list.h"
#include "base/now.h"
#include "command/command_fault.h"
#include "command/guards.h"
#include "guard/guard_link.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

/* A guard that has not emptied the tree this long after it should have is taken for dead. Within
 * the margin between the lease's deadline and its expiry. */
#define SILENCE_MS 500
#define SWEEP_MS   5

/* Until we have reaped it, the number is the guard's. */
static void kill_guard(struct command *command)
{
    if (!command->is_guard_gone)
        kill(command->guard, SIGKILL);
}

void command_guard_tell(struct command *command, const struct guard_message *message)
{
    if (!command->is_guard_gone && !guard_link_tell(command->socket.fd, message))
        kill_guard(command);
}

bool command_guard_has_tree(const struct command *command)
{
    return command->state != COMMAND_IDLE && command->state != COMMAND_EMPTY;
}

void command_guard_watch_silence(struct command *command)
{
    int64_t kill_at = command->stop_kill_boot_ms < command->lease_kill_boot_ms
                          ? command->stop_kill_boot_ms
                          : command->lease_kill_boot_ms;
    int64_t due = kill_at == COMMAND_NEVER ? COMMAND_NEVER : kill_at + SILENCE_MS;
    due = due < command->answer_boot_ms ? due : command->answer_boot_ms;
    if (command_guard_has_tree(command) && !command->is_guard_gone && due != COMMAND_NEVER)
        alarm_set_at(&command->silence, due);
    else
        alarm_stop(&command->silence);
}

void command_guard_become_empty(struct command *command, enum guard_killer killer)
{
    command->state = COMMAND_EMPTY;
    alarm_stop(&command->silence);
    command_output_drain(&command->output);
    command->listener->empty(command->owner, killer);
}

/* ---- what the guard tells -------------------------------------------------------------------- */

static void on_heard(struct command *command)
{
    command->answer_boot_ms = COMMAND_NEVER;
    command_guard_watch_silence(command);
}

static void on_not_started(struct command *command, const struct guard_message *message)
{
    struct error why;
    int exit_code = command_fault_explain(message, command->spec.plan, &why);
    command->state = COMMAND_CLEARING;
    command->listener->not_started(command->owner, exit_code, &why);
}

static void on_exited(struct command *command, const struct guard_message *message)
{
    command->state = COMMAND_CLEARING;
    command->pid = 0;
    if (message->killer == GUARD_KILLER_DEADLINE) /* so that it knows that we are not hanging */
        command_stop(command, 0, now_boot_ms());
    command->listener->exited(command->owner, message->status, message->killer);
}

static void on_message(struct command *command, const struct guard_message *message)
{
    const struct command_listener *listener = command->listener;
    switch (message->kind) {
    case GUARD_STARTED:
        command->state = COMMAND_RUNNING;
        command->pid = message->pid;
        listener->started(command->owner, message->pid);
        return;
    case GUARD_NOT_STARTED:
        on_not_started(command, message);
        return;
    case GUARD_STOPPED:
        if (message->pid == command->continue_count) /* else it was continued meanwhile */
            listener->stopped(command->owner, message->number);
        return;
    case GUARD_EXITED:
        on_exited(command, message);
        return;
    case GUARD_LEFTOVERS:
        listener->leftovers(command->owner, message->pid, message->text);
        return;
    case GUARD_EMPTY:
        command_guard_become_empty(command, message->killer);
        return;
    case GUARD_HEARD:
        on_heard(command);
        return;
    case GUARD_READY:
    case GUARD_HOLD:
    case GUARD_START:
    case GUARD_DEADLINE:
    case GUARD_SIGNAL:
    case GUARD_STOP:
    case GUARD_CONTINUE:
    case GUARD_PAUSE:
    case GUARD_DISMISS:
        return;
    }
}

/* Hears what the guard has said so far; a listener may close the command meanwhile. */
static enum guard_link_heard read_messages(struct command *command)
{
    struct guard_message message;
    enum guard_link_heard heard;
    do {
        heard = guard_link_hear(command->socket.fd, &message);
        if (heard == GUARD_LINK_MESSAGE && !command->is_closing)
            on_message(command, &message);
    } while (heard == GUARD_LINK_MESSAGE && command->socket.fd >= 0);
    return heard;
}

/* ---- its end --------------------------------------------------------------------------------- */

/* What the guard leaves has come to us, its orphans' subreaper; the command itself was killed by
 * the kernel with its parent. */
static void sweep(struct command *command)
{
    if (guards_sweep())
        command_guard_become_empty(command, command->killer);
    else
        alarm_set_in(&command->sweep, SWEEP_MS);
}

void command_guard_on_sweep(struct alarm *alarm)
{
    sweep(LIST_OBJECT(alarm, struct command, sweep));
}

void command_guard_refuse_start(struct command *command)
{
    struct error why;
    error_set(&why, ERROR_SYSTEM, "cannot start %s: its guard was killed or does not answer",
              command->spec.plan->argv[0]);
    command->listener->not_started(command->owner, EXIT_SYSTEM, &why);
}

static void on_guard_end(struct command *command)
{
    command->is_guard_gone = true;
    waitpid(command->guard, NULL, 0); /* it has closed its files: it is about to be there */
    guards_remove(command->guard, true);
    if (command->is_closing) {
        command_guard_finish_close(command);
        return;
    }
    watch_close(&command->socket, &command->handles);
    alarm_stop(&command->silence);
    if (command->state == COMMAND_EMPTY)
        return; /* nothing is left to be guarded */
    bool has_started = command->state != COMMAND_IDLE;
    command->pid = 0;
    if (command->state == COMMAND_STARTING && command->answer_boot_ms != COMMAND_NEVER)
        command_guard_refuse_start(command); /* it never heard of any command */
    else
        command->listener->guard_died(command->owner);
    if (command->is_closing)
        return;
    if (has_started)
        sweep(command);
    else
        command_guard_become_empty(command, GUARD_KILLER_NONE);
}

void command_guard_on_socket(struct watch *watch)
{
    struct command *command = LIST_OBJECT(watch, struct command, socket);
    if (read_messages(command) == GUARD_LINK_CLOSED)
        on_guard_end(command);
}

/* The guard does not answer. While it has not been reaped it has not reaped the command either,
 * unless it told so: the group is the command's. */
void command_guard_on_silence(struct alarm *alarm)
{
    struct command *command = LIST_OBJECT(alarm, struct command, silence);
    if (command->is_closing) {
        kill_guard(command);
        return;
    }
    if (read_messages(command) == GUARD_LINK_CLOSED || command->is_closing ||
        !command_guard_has_tree(command))
        return; /* it has answered while we were held up, or on_socket comes */
    if (alarm->is_set)
        return; /* it has heard of the start: the alarm is for its next duty */
    if (command->pid > 0)
        kill(-command->pid, SIGKILL);
    kill_guard(command);
}

static void on_closed(struct handles *handles)
{
    struct command *command = LIST_OBJECT(handles, struct command, handles);
    void (*closed)(void *owner) = command->closed;
    void *owner = command->owner;
    free(command);
    if (closed != NULL)
        closed(owner);
}

void command_guard_finish_close(struct command *command)
{
    guards_remove(command->guard, false);
    command->handles.closed = on_closed;
    command_output_close(&command->output);
    watch_close(&command->socket, &command->handles);
    alarm_close(&command->silence, &command->handles);
    alarm_close(&command->sweep, &command->handles);
    alarm_close(&command->refusal, &command->handles);
}
