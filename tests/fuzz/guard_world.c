/* SPDX-License-Identifier: ISC */
#include "guard_world.h"

#include "fuzz.h"
#include "guard/guard_command.h"
#include "guard/processes.h"
#include "guard/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct guard_world guard_world;

static void close_fault(void)
{
    if (guard_world.fault_fd >= 0)
        close(guard_world.fault_fd);
    guard_world.fault_fd = -1;
}

void guard_world_reset(const struct guard *guard)
{
    if (guard_world.guard != NULL)
        close_fault();
    guard_world = (struct guard_world){
        .guard = guard, .fault_fd = -1, .ended_status = -1, .stopped_status = -1};
}

static bool is_alive(void)
{
    return guard_world.is_forked && !guard_world.is_reaped && guard_world.ended_status < 0;
}

void guard_world_exec(void)
{
    if (is_alive())
        close_fault();
}

void guard_world_end(int status)
{
    if (!is_alive())
        return;
    guard_world.ended_status = status & 0x7f ? (status & 0x7f) % SIGSYS + 1 : status & 0xff00;
    close_fault();
}

void guard_world_fail_exec(int errno_value)
{
    if (!is_alive() || guard_world.fault_fd < 0)
        return;
    struct guard_command_fault fault = {.errno_value = errno_value, .stage = GUARD_STAGE_EXEC};
    FUZZ_CHECK(write(guard_world.fault_fd, &fault, sizeof fault) == (ssize_t)sizeof fault);
    guard_world_end(127 << 8);
}

void guard_world_stop(int number)
{
    if (is_alive())
        guard_world.stopped_status = number << 8 | 0x7f;
}

/* ---- what is wrapped ----------------------------------------------------------------------- */

pid_t __wrap_guard_command_fork(char *const *argv, const struct guard_message *start,
                                const struct guard_setup *setup, int *ret_fault_fd);
pid_t __wrap_guard_command_give_terminal(pid_t group);
int __wrap_kill(pid_t pid, int number);
int __wrap_pidfd_send_signal(int fd, int number, siginfo_t *info, unsigned flags);
pid_t __wrap_waitpid(pid_t pid, int *ret_status, int options);
pid_t __wrap_getppid(void);
bool __wrap_process_read(const char *proc, pid_t pid, struct process *ret_process);
void __wrap_tree_signal(struct tree_signalled *signalled, int number, const pid_t *spared,
                        size_t spared_count);
void __wrap_tree_note_group(struct tree_signalled *signalled, pid_t group);
void __wrap_tree_kill(const pid_t *spared, size_t spared_count);
size_t __wrap_tree_describe(char *ret_text, size_t room, const pid_t *spared, size_t spared_count);

pid_t __wrap_guard_command_fork(char *const *argv, const struct guard_message *start,
                                const struct guard_setup *setup, int *ret_fault_fd)
{
    int ends[2];
    FUZZ_CHECK(!guard_world.is_forked && argv[0] != NULL);
    FUZZ_CHECK(memchr(start->run_id, '\0', sizeof start->run_id) != NULL);
    FUZZ_CHECK(memchr(start->slot, '\0', sizeof start->slot) != NULL);
    errno = EAGAIN;
    if (guard_world.is_fork_refused)
        return -1;
    FUZZ_CHECK(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    *ret_fault_fd = ends[0];
    guard_world.fault_fd = ends[1];
    guard_world.is_forked = true;
    return WORLD_COMMAND;
}

pid_t __wrap_guard_command_give_terminal(pid_t group)
{
    FUZZ_CHECK(group == WORLD_COMMAND && !guard_world.is_reaped);
    return -1;
}

/* A number that was reaped may be another's by now. */
int __wrap_kill(pid_t pid, int number)
{
    FUZZ_CHECK(pid == -WORLD_COMMAND && guard_world.is_forked && !guard_world.is_reaped);
    if (number == SIGKILL) {
        guard_world.kill_count++;
        guard_world_end(SIGKILL);
    }
    return number < 0 || number > 64 ? -1 : 0;
}

int __wrap_pidfd_send_signal(int fd, int number, siginfo_t *info, unsigned flags)
{
    FUZZ_CHECK(number == SIGKILL && info == NULL && flags == 0);
    FUZZ_CHECK(guard_world.guard->holder[0] != '\0' && !guard_world.guard->is_paused);
    return 0;
}

pid_t __wrap_waitpid(pid_t pid, int *ret_status, int options)
{
    struct guard_world *world = &guard_world;
    int status = world->ended_status >= 0 ? world->ended_status : world->stopped_status;
    if (status >= 0) {
        world->is_reaped = world->ended_status >= 0;
        world->ended_status = world->stopped_status = -1;
        if (ret_status != NULL)
            *ret_status = status;
        return WORLD_COMMAND;
    }
    bool is_there = world->is_forked && !world->is_reaped;
    FUZZ_CHECK((options & WNOHANG) != 0 || !is_there); /* else it would wait for ever */
    if (pid == -1 && world->ended_orphan_count > 0) {
        world->ended_orphan_count--;
        *ret_status = 0;
        return WORLD_COMMAND + 1;
    }
    if (is_there || (pid == -1 && world->orphan_count > 0))
        return 0;
    errno = ECHILD;
    return -1;
}

pid_t __wrap_getppid(void)
{
    return guard_world.is_leaserun_gone ? 1 : WORLD_LEASERUN;
}

bool __wrap_process_read(const char *proc, pid_t pid, struct process *ret_process)
{
    FUZZ_CHECK(pid == WORLD_LEASERUN);
    ret_process->state = guard_world.is_leaserun_stopped ? 'T' : 'S';
    return !guard_world.is_leaserun_gone;
}

void __wrap_tree_signal(struct tree_signalled *signalled, int number, const pid_t *spared,
                        size_t spared_count)
{
    FUZZ_CHECK(number == SIGTERM && spared_count == 0);
}

void __wrap_tree_note_group(struct tree_signalled *signalled, pid_t group)
{
    FUZZ_CHECK(group == WORLD_COMMAND && !guard_world.is_reaped);
}

void __wrap_tree_kill(const pid_t *spared, size_t spared_count)
{
    FUZZ_CHECK(spared_count == 0);
    guard_world.kill_count++;
    guard_world.ended_orphan_count += guard_world.orphan_count;
    guard_world.orphan_count = 0;
    guard_world_end(SIGKILL);
}

size_t __wrap_tree_describe(char *ret_text, size_t room, const pid_t *spared, size_t spared_count)
{
    snprintf(ret_text, room, "%zu of them", guard_world.orphan_count);
    return guard_world.orphan_count;
}
