/* SPDX-License-Identifier: ISC */
#include "command/command.h"

#include "base/exit_code.h"
#include "base/identity.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/now.h"
#include "command/command_fault.h"
#include "command/command_link.h"
#include "command/guards.h"
#include "guard/guard_link.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A guard that has not emptied the tree this long after it should have is taken for dead. Within
 * the margin between the lease's deadline and its expiry. */
#define SILENCE_MS 500
/* A dismissed guard has nothing to do but go. */
#define GOING_MS 500
#define SWEEP_MS 5

#define NEVER INT64_MAX

enum command_state {
    COMMAND_IDLE,     /* the guard waits for a claim */
    COMMAND_STARTING, /* told to start */
    COMMAND_RUNNING,
    COMMAND_CLEARING, /* the command has ended, or was never started; its tree may live */
    COMMAND_EMPTY,
};

struct command {
    struct command_spec spec;
    const struct command_listener *listener;
    void *owner;

    pid_t guard;
    struct watch socket;  /* end of file: the guard has ended */
    struct alarm silence; /* the guard should have ended the tree by then */
    struct alarm sweep;   /* the guard is gone: look again what is left */
    struct alarm refusal; /* command_start came after the guard's end */
    struct handles handles;
    void (*closed)(void *owner);

    enum command_state state;
    pid_t pid; /* of the command, from GUARD_STARTED to GUARD_EXITED; 0 else */
    int64_t lease_kill_boot_ms, stop_kill_boot_ms;
    enum guard_killer killer;
    int32_t continue_count;
    bool is_guard_ready, is_guard_gone, is_dismissed, is_closing;
};

/* Until we have reaped it, the number is the guard's. */
static void kill_guard(struct command *command)
{
    if (!command->is_guard_gone)
        kill(command->guard, SIGKILL);
}

/* A guard that cannot be told is as good as dead; the end of the socket tells when it is. */
static void tell(struct command *command, const struct guard_message *message)
{
    if (!command->is_guard_gone && !guard_link_tell(command->socket.fd, message))
        kill_guard(command);
}

static bool has_tree(const struct command *command)
{
    return command->state != COMMAND_IDLE && command->state != COMMAND_EMPTY;
}

static void watch_silence(struct command *command)
{
    int64_t kill_at = command->stop_kill_boot_ms < command->lease_kill_boot_ms
                          ? command->stop_kill_boot_ms
                          : command->lease_kill_boot_ms;
    if (has_tree(command) && !command->is_guard_gone && kill_at != NEVER)
        alarm_set_at(&command->silence, kill_at + SILENCE_MS);
    else
        alarm_stop(&command->silence);
}

static void become_empty(struct command *command, enum guard_killer killer)
{
    command->state = COMMAND_EMPTY;
    alarm_stop(&command->silence);
    command->listener->empty(command->owner, killer);
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
        become_empty(command, message->killer);
        return;
    case GUARD_READY:
        command->is_guard_ready = true;
        return;
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

/* What the guard leaves has come to us, its orphans' subreaper; the command itself was killed by
 * the kernel with its parent. */
static void sweep(struct command *command)
{
    if (guards_sweep())
        become_empty(command, command->killer);
    else
        alarm_set_in(&command->sweep, SWEEP_MS);
}

static void on_sweep(struct alarm *alarm)
{
    sweep(LIST_OBJECT(alarm, struct command, sweep));
}

static void refuse_start(struct command *command)
{
    struct error why;
    error_set(&why, ERROR_SYSTEM, "cannot start %s: its guard has died",
              command->spec.plan->argv[0]);
    command->listener->not_started(command->owner, EXIT_SYSTEM, &why);
}

static void finish_close(struct command *command);

static void on_guard_end(struct command *command)
{
    command->is_guard_gone = true;
    waitpid(command->guard, NULL, 0); /* it has closed its files: it is about to be there */
    guards_remove(command->guard, true);
    if (command->is_closing) {
        finish_close(command);
        return;
    }
    watch_close(&command->socket, &command->handles);
    alarm_stop(&command->silence);
    if (command->state == COMMAND_EMPTY)
        return; /* nothing is left to be guarded */
    bool has_started = command->state != COMMAND_IDLE;
    command->pid = 0;
    if (command->state == COMMAND_STARTING && !command->is_guard_ready)
        refuse_start(command); /* it died before it could hear of any command */
    else
        command->listener->guard_died(command->owner);
    if (command->is_closing)
        return;
    if (has_started)
        sweep(command);
    else
        become_empty(command, GUARD_KILLER_NONE);
}

static void on_socket(struct watch *watch)
{
    struct command *command = LIST_OBJECT(watch, struct command, socket);
    if (read_messages(command) == GUARD_LINK_CLOSED)
        on_guard_end(command);
}

/* The guard does not answer. While it has not been reaped it has not reaped the command either,
 * unless it told so: the group is the command's. */
static void on_silence(struct alarm *alarm)
{
    struct command *command = LIST_OBJECT(alarm, struct command, silence);
    if (command->is_closing) {
        kill_guard(command);
        return;
    }
    if (read_messages(command) == GUARD_LINK_CLOSED || command->is_closing || !has_tree(command))
        return; /* it has answered while we were held up, or on_socket comes */
    if (command->pid > 0)
        kill(-command->pid, SIGKILL);
    kill_guard(command);
}

static void on_refusal(struct alarm *alarm)
{
    struct command *command = LIST_OBJECT(alarm, struct command, refusal);
    refuse_start(command);
    if (!command->is_closing)
        become_empty(command, GUARD_KILLER_NONE);
}

bool command_open(struct command **ret_command, uv_loop_t *loop, const struct command_spec *spec,
                  const struct command_listener *listener, void *owner, struct error *err)
{
    struct command_link link;
    if (!identity_proc_is_ours())
        return error_set(err, ERROR_SYSTEM,
                         "/proc is not mounted or shows another pid namespace, and without it what "
                         "a command starts cannot be found and ended: mount it (unshare "
                         "--mount-proc)");
    guards_begin();
    if (!command_link_open(&link, spec, err))
        return false;
    guards_add(link.guard);
    struct command *command = mem_alloc(sizeof *command);
    *command = (struct command){.spec = *spec,
                                .listener = listener,
                                .owner = owner,
                                .guard = link.guard,
                                .lease_kill_boot_ms = NEVER,
                                .stop_kill_boot_ms = NEVER};
    alarm_init(&command->silence, loop, on_silence);
    alarm_init(&command->sweep, loop, on_sweep);
    alarm_init(&command->refusal, loop, on_refusal);
    int rc = watch_open(&command->socket, loop, link.socket_fd, on_socket);
    if (rc == 0) {
        *ret_command = command;
        return true;
    }
    close(link.socket_fd);
    command_close(command, NULL);
    return error_set(err, ERROR_SYSTEM, "the guard cannot be watched: %s", uv_strerror(rc));
}

int64_t command_guard_pid(const struct command *command)
{
    return command->guard;
}

void command_hold(struct command *command, const char *holder, const char *run_id)
{
    struct guard_message message = {.kind = GUARD_HOLD};
    memccpy(message.holder, holder, '\0', sizeof message.holder);
    memccpy(message.run_id, run_id, '\0', sizeof message.run_id);
    command->is_dismissed = false;
    tell(command, &message);
}

void command_start(struct command *command, const struct command_start *start)
{
    const struct signals_given *signals = command->spec.signals;
    struct guard_message message = {
        .kind = GUARD_START,
        .fence = start->fence,
        .attempt = start->attempt,
        .term_at_boot_ms = start->term_at_boot_ms,
        .kill_at_boot_ms = start->kill_at_boot_ms,
        .grace_ms = start->grace_ms,
        .leftovers = start->leftovers,
        .is_foreground = start->is_foreground,
        .keep_hup_ignored = signals->hup_ignored,
        .keep_int_ignored = signals->int_ignored,
        .keep_quit_ignored = signals->quit_ignored,
    };
    memccpy(message.run_id, start->run_id, '\0', sizeof message.run_id);
    memccpy(message.slot, start->slot, '\0', sizeof message.slot);
    if (command->is_guard_gone) {
        alarm_set_in(&command->refusal, 0);
        return;
    }
    int64_t now = now_boot_ms();
    command->state = COMMAND_STARTING;
    command->lease_kill_boot_ms = start->kill_at_boot_ms < now ? now : start->kill_at_boot_ms;
    watch_silence(command);
    tell(command, &message);
}

void command_move_deadline(struct command *command, int64_t term_at_boot_ms,
                           int64_t kill_at_boot_ms)
{
    command->lease_kill_boot_ms = kill_at_boot_ms;
    watch_silence(command);
    tell(command, &(struct guard_message){.kind = GUARD_DEADLINE,
                                          .term_at_boot_ms = term_at_boot_ms,
                                          .kill_at_boot_ms = kill_at_boot_ms});
}

void command_signal(struct command *command, int number)
{
    tell(command, &(struct guard_message){.kind = GUARD_SIGNAL, .number = number});
}

void command_stop(struct command *command, int number, int64_t kill_at_boot_ms)
{
    int64_t now = now_boot_ms();
    int64_t kill_at = kill_at_boot_ms < now ? now : kill_at_boot_ms;
    if (kill_at < command->stop_kill_boot_ms)
        command->stop_kill_boot_ms = kill_at;
    if (number != 0 && command->killer == GUARD_KILLER_NONE)
        command->killer = GUARD_KILLER_STOP;
    watch_silence(command);
    tell(command, &(struct guard_message){
                      .kind = GUARD_STOP, .number = number, .kill_at_boot_ms = kill_at_boot_ms});
}

void command_continue(struct command *command, bool is_foreground)
{
    command->continue_count++;
    tell(command, &(struct guard_message){.kind = GUARD_CONTINUE, .is_foreground = is_foreground});
}

void command_pause(struct command *command)
{
    tell(command, &(struct guard_message){.kind = GUARD_PAUSE});
}

void command_dismiss(struct command *command)
{
    command->is_dismissed = true;
    tell(command, &(struct guard_message){.kind = GUARD_DISMISS});
}

void command_reap_strangers(void)
{
    guards_reap_strangers();
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

static void finish_close(struct command *command)
{
    guards_remove(command->guard, false);
    command->handles.closed = on_closed;
    watch_close(&command->socket, &command->handles);
    alarm_close(&command->silence, &command->handles);
    alarm_close(&command->sweep, &command->handles);
    alarm_close(&command->refusal, &command->handles);
}

/* A guard without work is waited for, so that nothing of ours is left when leaserun has gone; one
 * that ends a tree, or frees a lease, does so without us. */
void command_close(struct command *command, void (*closed)(void *owner))
{
    command->is_closing = true;
    command->closed = closed;
    alarm_stop(&command->sweep);
    alarm_stop(&command->refusal);
    if (!command->is_guard_gone && command->is_dismissed && !has_tree(command)) {
        shutdown(command->socket.fd, SHUT_WR);
        alarm_set_in(&command->silence, GOING_MS);
    } else {
        finish_close(command);
    }
}
