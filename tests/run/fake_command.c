/* SPDX-License-Identifier: ISC */
#include "fake_command.h"

#include "base/fds.h"
#include "base/list.h"
#include "base/mem.h"
#include "check.h"
#include "journal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct command {
    const struct command_listener *listener;
    void *owner;
    struct alarm alarm; /* so that closing takes a turn of the loop */
    struct handles handles;
    void (*closed)(void *owner);
};

static struct {
    struct command *command;
    const char *open_fault;
} fake;

void fake_command_reset(const char *open_fault)
{
    fake.open_fault = open_fault;
    fake.command = NULL;
}

bool fake_command_is_open(void)
{
    return fake.command != NULL;
}

/* ---- what the guard tells ------------------------------------------------------------------ */

void fake_command_started(int64_t pid)
{
    fake.command->listener->started(fake.command->owner, pid);
}

void fake_command_not_started(int exit_code, const char *why)
{
    struct error err;
    error_set(&err, ERROR_SYSTEM, "%s", why);
    fake.command->listener->not_started(fake.command->owner, exit_code, &err);
}

void fake_command_stopped(int number)
{
    fake.command->listener->stopped(fake.command->owner, number);
}

void fake_command_exited(int wait_status, enum guard_killer killer)
{
    fake.command->listener->exited(fake.command->owner, wait_status, killer);
}

void fake_command_leftovers(int count, const char *names)
{
    fake.command->listener->leftovers(fake.command->owner, count, names);
}

void fake_command_guard_died(void)
{
    fake.command->listener->guard_died(fake.command->owner);
}

void fake_command_empty(enum guard_killer killer)
{
    fake.command->listener->empty(fake.command->owner, killer);
}

/* ---- command/command.h --------------------------------------------------------------------- */

static void on_alarm(struct alarm *alarm)
{
}

bool command_open(struct command **ret_command, uv_loop_t *loop, const struct command_spec *spec,
                  const struct command_listener *listener, void *owner, struct error *err)
{
    if (fake.open_fault != NULL)
        return error_set(err, ERROR_SYSTEM, "%s", fake.open_fault);
    struct command *command = mem_alloc(sizeof *command);
    command->listener = listener;
    command->owner = owner;
    alarm_init(&command->alarm, loop, on_alarm);
    fake.command = command;
    *ret_command = command;
    journal_add("guard for %s", spec->key);
    return true;
}

int64_t command_guard_pid(const struct command *command)
{
    return 4242;
}

void command_hold(struct command *command, const char *holder, const char *run_id)
{
    assert_true(holder[0] != '\0');
    journal_add("hold");
}

void command_start(struct command *command, const struct command_start *start)
{
    journal_add(
        "start fence %" PRId64 " slot %s term %" PRId64 " kill %" PRId64 " grace %" PRId64 "%s%s",
        start->fence, start->slot[0] == '\0' ? "-" : start->slot,
        journal_ms(start->term_at_boot_ms), journal_ms(start->kill_at_boot_ms), start->grace_ms,
        start->is_foreground ? " foreground" : "", start->attempt > 1 ? " again" : "");
}

void command_move_deadline(struct command *command, int64_t term_at_boot_ms,
                           int64_t kill_at_boot_ms)
{
    journal_add("deadline term %" PRId64 " kill %" PRId64, journal_ms(term_at_boot_ms),
                journal_ms(kill_at_boot_ms));
}

void command_signal(struct command *command, int number)
{
    journal_add("signal %s", sigabbrev_np(number));
}

void command_stop(struct command *command, int number, int64_t kill_at_boot_ms)
{
    journal_add("stop %s kill %" PRId64, sigabbrev_np(number), journal_ms(kill_at_boot_ms));
}

void command_continue(struct command *command, bool is_foreground)
{
    journal_add("continue%s", is_foreground ? " foreground" : "");
}

void command_pause(struct command *command)
{
    journal_add("pause");
}

const char *command_tail(const struct command *command, size_t *ret_length)
{
    *ret_length = 0;
    return "";
}

void command_dismiss(struct command *command)
{
    journal_add("dismiss");
}

void command_reap_strangers(void)
{
}

static void free_command(struct handles *handles)
{
    struct command *command = LIST_OBJECT(handles, struct command, handles);
    void (*closed)(void *owner) = command->closed;
    void *owner = command->owner;
    if (fake.command == command) /* not of an attempt before the present one */
        fake.command = NULL;
    free(command);
    if (closed != NULL)
        closed(owner);
}

void command_close(struct command *command, void (*closed)(void *owner))
{
    command->closed = closed;
    command->handles.closed = free_command;
    alarm_close(&command->alarm, &command->handles);
}

/* ---- base/fds.h ----------------------------------------------------------------------------- */

void fds_let_go(struct fds *given)
{
    journal_add("let go");
}
