/* SPDX-License-Identifier: ISC */
#include "guard/guard_command.h"

#include "guard/guard_account.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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
    if (start->fence > 0)
        set_number("LEASERUN_FENCE", start->fence);
    else
        unsetenv("LEASERUN_FENCE"); /* there is none, and an outer run's is not ours */
    if (start->attempt > 0)
        set_number("LEASERUN_ATTEMPT", start->attempt);
    else
        unsetenv("LEASERUN_ATTEMPT"); /* of a hook about what never started */
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

static bool connect_standard(const struct guard_setup *setup)
{
    return dup2(setup->stdin_fd, STDIN_FILENO) >= 0 &&
           (setup->stdout_fd < 0 || dup2(setup->stdout_fd, STDOUT_FILENO) >= 0) &&
           (setup->stderr_fd < 0 || dup2(setup->stderr_fd, STDERR_FILENO) >= 0);
}

static bool enter_folder(const struct guard_setup *setup)
{
    if (setup->cwd == NULL || chdir(setup->cwd) == 0)
        return true;
    return setup->is_cwd_optional && chdir("/") == 0;
}

/* Returns only when it could not, with errno, and says where. */
static enum guard_stage become(char *const *argv, const struct guard_message *start,
                               const struct guard_setup *setup, pid_t guard)
{
    if (!connect_standard(setup))
        return GUARD_STAGE_OUTPUT;
    if (setup->takes_account && !guard_account_take(setup))
        return GUARD_STAGE_ACCOUNT;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* not before: taking an account clears it */
    if (getppid() != guard)           /* it was too late to ask for that */
        _exit(EXIT_FAILURE);
    if (setup->umask >= 0)
        umask((mode_t)setup->umask);
    if (!enter_folder(setup))
        return GUARD_STAGE_CWD;
    set_environment(start);
    set_signals(start);
    execvp(argv[0], argv);
    return GUARD_STAGE_EXEC;
}

/* The process group and the terminal come first: they are the guard's to give. */
static enum guard_stage become_group(char *const *argv, const struct guard_message *start,
                                     const struct guard_setup *setup, pid_t guard)
{
    pid_t foreground = -1;
    setpgid(0, 0);
    if (start->is_foreground)
        foreground = guard_command_give_terminal(getpid());
    enum guard_stage stage = become(argv, start, setup, guard);
    int saved_errno = errno;
    if (foreground > 0)
        guard_command_give_terminal(foreground);
    errno = saved_errno;
    return stage;
}

pid_t guard_command_fork(char *const *argv, const struct guard_message *start,
                         const struct guard_setup *setup, int *ret_fault_fd)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    pid_t guard = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        struct guard_command_fault fault = {.stage = become_group(argv, start, setup, guard)};
        fault.errno_value = errno;
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
