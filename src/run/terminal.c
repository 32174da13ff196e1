/* SPDX-License-Identifier: ISC */
#include "run/terminal.h"

#include "guard/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_pipe(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

void terminal_open(struct terminal *terminal)
{
    *terminal = (struct terminal){
        .fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC),
        .has_person = isatty(STDIN_FILENO) && !is_pipe(STDOUT_FILENO),
    };
}

void terminal_close(struct terminal *terminal)
{
    if (terminal->fd >= 0)
        close(terminal->fd);
    terminal->fd = -1;
}

bool terminal_is_at(const struct terminal *terminal, pid_t group)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == group;
}

bool terminal_is_ours(const struct terminal *terminal)
{
    return terminal_is_at(terminal, getpgrp());
}

bool terminal_should_give(const struct terminal *terminal)
{
    return terminal_is_ours(terminal) && terminal->has_person;
}

bool terminal_is_gone(const struct terminal *terminal)
{
    struct termios modes;
    return terminal->fd >= 0 && tcgetattr(terminal->fd, &modes) != 0;
}

void terminal_give(struct terminal *terminal)
{
    terminal->is_given = true;
    terminal->has_modes = tcgetattr(terminal->fd, &terminal->modes) == 0;
}

/* A command with job control of its own (a shell) may have died while a job of it was in front. */
static bool is_deserted(const struct terminal *terminal)
{
    pid_t front = tcgetpgrp(terminal->fd);
    return front > 0 && kill(-front, 0) != 0 && errno == ESRCH;
}

void terminal_take_back(struct terminal *terminal, pid_t command_group)
{
    if (terminal_is_at(terminal, command_group) || (terminal->is_given && is_deserted(terminal)))
        tcsetpgrp(terminal->fd, getpgrp());
    terminal->is_given = false;
}

void terminal_restore_modes(const struct terminal *terminal)
{
    if (terminal->has_modes && terminal_is_ours(terminal))
        tcsetattr(terminal->fd, TCSANOW, &terminal->modes);
}

/* The others of our group are taken for our ancestors' children, as a shell makes them. */
bool terminal_can_stop_self(void)
{
    struct process process;
    for (pid_t pid = getppid(); pid > 0; pid = process.parent) {
        if (getpgid(pid) != getpgrp())
            return getsid(pid) == getsid(0);
        if (!process_read("/proc", pid, &process))
            return true; /* not to be seen: the kernel knows */
    }
    return false;
}

/* A SIGCONT that waits to be read came after Ctrl-Z; SIGTSTP would delete it. */
static bool is_continued(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}

void terminal_stop_self(void)
{
    if (is_continued())
        return;
    /* SIGTSTP with its default action stops the group, unless the group is orphaned: then the
     * kernel discards it, since no shell could continue it. */
    sigset_t stop, going_on, before;
    sigemptyset(&stop);
    sigemptyset(&going_on);
    sigaddset(&stop, SIGTSTP);
    sigaddset(&going_on, SIGCONT);
    signal(SIGTSTP, SIG_DFL);
    kill(0, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    sigtimedwait(&going_on, NULL, &(const struct timespec){0, 0}); /* read: we know */
}
