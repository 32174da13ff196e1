/* SPDX-License-Identifier: ISC */
#include "run/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

void terminal_open(struct terminal *terminal)
{
    terminal->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    terminal->is_given = false;
}

void terminal_close(struct terminal *terminal)
{
    if (terminal->fd >= 0)
        close(terminal->fd);
    terminal->fd = -1;
}

bool terminal_is_ours(const struct terminal *terminal)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == getpgrp();
}

static bool is_pipe(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

bool terminal_should_give(const struct terminal *terminal)
{
    return terminal_is_ours(terminal) && isatty(STDIN_FILENO) && !is_pipe(STDOUT_FILENO);
}

void terminal_take_back(struct terminal *terminal, pid_t command_group)
{
    terminal->is_given = false;
    if (terminal->fd >= 0 && tcgetpgrp(terminal->fd) == command_group)
        tcsetpgrp(terminal->fd, getpgrp());
}

void terminal_stop_self(void)
{
    /* SIGTSTP with its default action stops the group, unless the group is orphaned: then the
     * kernel discards it, since no shell could continue it. */
    sigset_t stop, before;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    signal(SIGTSTP, SIG_DFL);
    kill(0, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
}
