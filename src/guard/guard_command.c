/* SPDX-License-Identifier: ISC */
#include "guard/guard_command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By system call, since glibc keeps 32 and 33 for itself and posix_spawn(3) may have left them
 * ignored. All zero is SIG_DFL in every layout of the kernel's struct. */
void guard_command_default_signals(void)
{
    static const char action[64];
    for (int number = 1; number <= 64; number++)
        syscall(SYS_rt_sigaction, number, action, NULL, 8);
}

static void set_signals(const struct guard_message *start)
{
    sigset_t none;
    guard_command_default_signals();
    if (start->keep_hup_ignored)
        signal(SIGHUP, SIG_IGN);
    if (start->keep_int_ignored)
        signal(SIGINT, SIG_IGN);
    if (start->keep_quit_ignored)
        signal(SIGQUIT, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A leaserun within another's command must not show the outer one's slot. */
static void set_word(const char *name, const char *value)
{
    if (value[0] == '\0')
        unsetenv(name);
    else
        setenv(name, value, 1);
}

static void set_number(const char *name, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    setenv(name, digits, 1);
}

static void set_environment(const struct guard_message *start)
{
    set_number("LEASERUN_FENCE", start->fence);
    set_number("LEASERUN_ATTEMPT", start->attempt);
    set_word("LEASERUN_RUN_ID", start->run_id);
    set_word("LEASERUN_SLOT", start->slot);
}

pid_t guard_command_give_terminal(pid_t group)
{
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    pid_t before = tcgetpgrp(fd);
    tcsetpgrp(fd, group);
    close(fd);
    return before;
}

/* Returns only when it could not, with errno. */
static void become(char *const *argv, const struct guard_message *start, pid_t guard)
{
    pid_t foreground = -1;
    setpgid(0, 0);
    if (start->is_foreground)
        foreground = guard_command_give_terminal(getpid());
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard) /* it was too late to ask for that */
        _exit(EXIT_FAILURE);
    set_environment(start);
    set_signals(start);
    execvp(argv[0], argv);
    int exec_errno = errno;
    if (foreground > 0)
        guard_command_give_terminal(foreground);
    errno = exec_errno;
}

pid_t guard_command_fork(char *const *argv, const struct guard_message *start, int *ret_fault_fd)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    pid_t guard = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        become(argv, start, guard);
        struct guard_command_fault fault = {.errno_value = errno, .stage = GUARD_STAGE_EXEC};
        ssize_t ignored = write(ends[1], &fault, sizeof fault);
        (void)ignored;
        _exit(127);
    }
    int fork_errno = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        errno = fork_errno;
        return -1;
    }
    setpgid(pid, pid); /* here too: the group exists whoever comes first */
    *ret_fault_fd = ends[0];
    return pid;
}
