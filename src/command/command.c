/* SPDX-License-Identifier: ISC */
#include "command/command.h"

#include "base/identity.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/now.h"
#include "command/command_guard.h"
#include "command/command_link.h"
#include "command/guards.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MS 5000 /* a guard that is alive hears of the start at once */
#define GOING_MS  500  /* a dismissed guard has nothing to do but go */

static void on_refusal(struct alarm *alarm)
{
    struct command *command = LIST_OBJECT(alarm, struct command, refusal);
    command_guard_refuse_start(command);
    if (!command->is_closing)
        command_guard_become_empty(command, GUARD_KILLER_NONE);
}

static struct command *make_command(uv_loop_t *loop, const struct command_spec *spec,
                                    const struct command_listener *listener, void *owner)
{
    struct command *command = mem_alloc(sizeof *command);
    *command = (struct command){
        .spec = *spec,
        .listener = listener,
        .owner = owner,
        .socket.fd = -1,
        .lease_kill_boot_ms = COMMAND_NEVER,
        .stop_kill_boot_ms = COMMAND_NEVER,
        .answer_boot_ms = COMMAND_NEVER,
        .is_guard_gone = true,
    };
    alarm_init(&command->silence, loop, command_guard_on_silence);
    alarm_init(&command->sweep, loop, command_guard_on_sweep);
    alarm_init(&command->refusal, loop, on_refusal);
    return command;
}

static bool open_guard(struct command *command, uv_loop_t *loop,
                       const struct command_output_ends *ends, struct error *err)
{
    struct command_link link;
    if (!command_link_open(&link, &command->spec, ends, err))
        return false;
    guards_add(link.guard);
    command->guard = link.guard;
    command->is_guard_gone = false;
    int rc = watch_open(&command->socket, loop, link.socket_fd, command_guard_on_socket);
    if (rc == 0)
        return true;
    close(link.socket_fd);
    return error_set(err, ERROR_SYSTEM, "the guard cannot be watched: %s", uv_strerror(rc));
}

bool command_open(struct command **ret_command, uv_loop_t *loop, const struct command_spec *spec,
                  const struct command_listener *listener, void *owner, struct error *err)
{
    struct command_output_ends ends;
    if (!identity_proc_is_ours())
        return error_set(err, ERROR_SYSTEM,
                         "/proc is not mounted or shows another pid namespace, and without it what "
                         "a command starts cannot be found and ended: mount it (unshare "
                         "--mount-proc)");
    guards_begin();
    struct command *command = make_command(loop, spec, listener, owner);
    bool is_open = command_output_open(&command->output, loop, spec, listener, owner,
                                       &command->handles, &ends, err);
    bool has_guard = is_open && open_guard(command, loop, &ends, err);
    command_output_close_ends(&ends);
    if (has_guard)
        *ret_command = command;
    else
        command_close(command, NULL);
    return has_guard;
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
    command_guard_tell(command, &message);
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
    command->answer_boot_ms =
        start->term_at_boot_ms < now + ANSWER_MS ? start->term_at_boot_ms : now + ANSWER_MS;
    command_guard_watch_silence(command);
    command_guard_tell(command, &message);
}

void command_move_deadline(struct command *command, int64_t term_at_boot_ms,
                           int64_t kill_at_boot_ms)
{
    command->lease_kill_boot_ms = kill_at_boot_ms;
    command_guard_watch_silence(command);
    command_guard_tell(command, &(struct guard_message){.kind = GUARD_DEADLINE,
                                                        .term_at_boot_ms = term_at_boot_ms,
                                                        .kill_at_boot_ms = kill_at_boot_ms});
}

void command_signal(struct command *command, int number)
{
    command_guard_tell(command, &(struct guard_message){.kind = GUARD_SIGNAL, .number = number});
}

void command_stop(struct command *command, int number, int64_t kill_at_boot_ms)
{
    int64_t now = now_boot_ms();
    int64_t kill_at = kill_at_boot_ms < now ? now : kill_at_boot_ms;
    if (kill_at < command->stop_kill_boot_ms)
        command->stop_kill_boot_ms = kill_at;
    if (number != 0 && command->killer == GUARD_KILLER_NONE)
        command->killer = GUARD_KILLER_STOP;
    command_guard_watch_silence(command);
    command_guard_tell(command, &(struct guard_message){.kind = GUARD_STOP,
                                                        .number = number,
                                                        .kill_at_boot_ms = kill_at_boot_ms});
}

void command_continue(struct command *command, bool is_foreground)
{
    command->continue_count++;
    command_guard_tell(
        command, &(struct guard_message){.kind = GUARD_CONTINUE, .is_foreground = is_foreground});
}

void command_pause(struct command *command)
{
    command_guard_tell(command, &(struct guard_message){.kind = GUARD_PAUSE});
}

void command_dismiss(struct command *command)
{
    command->is_dismissed = true;
    command_guard_tell(command, &(struct guard_message){.kind = GUARD_DISMISS});
}

const char *command_tail(const struct command *command, size_t *ret_length)
{
    return tail_bytes(&command->output.tail, ret_length);
}

void command_reap_strangers(void)
{
    guards_reap_strangers();
}

/* A guard without work is waited for, so that nothing of ours is left when leaserun has gone; one
 * that ends a tree, or frees a lease, does so without us. */
void command_close(struct command *command, void (*closed)(void *owner))
{
    command->is_closing = true;
    command->closed = closed;
    alarm_stop(&command->sweep);
    alarm_stop(&command->refusal);
    if (!command->is_guard_gone && command->is_dismissed && !command_guard_has_tree(command)) {
        shutdown(command->socket.fd, SHUT_WR);
        alarm_set_in(&command->silence, GOING_MS);
    } else {
        command_guard_finish_close(command);
    }
}
