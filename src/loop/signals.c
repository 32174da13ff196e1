/* SPDX-License-Identifier: ISC */
#include "loop/signals.h"

#include <errno.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int stops[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
static const int others[] = {SIGUSR1, SIGUSR2, SIGCHLD, SIGCONT, SIGTSTP};

static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void fill_set(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++)
        if (!is_ignored(stops[i]))
            sigaddset(set, stops[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        sigaddset(set, others[i]);
}

void signals_take_stock(struct signals_given *ret_given)
{
    sigset_t set;
    *ret_given = (struct signals_given){
        .hup_ignored = is_ignored(SIGHUP),
        .int_ignored = is_ignored(SIGINT),
        .quit_ignored = is_ignored(SIGQUIT),
    };
    signal(SIGCHLD, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error to tell */
    signal(SIGTTOU, SIG_IGN);
    signal(SIGTTIN, SIG_IGN);
    fill_set(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct signals *signals = poll->data;
    struct signalfd_siginfo info;
    while (read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        signals->arrived(signals, (int)info.ssi_signo);
        if (uv_is_closing((uv_handle_t *)poll))
            return;
    }
}

int signals_open(struct signals *signals, uv_loop_t *loop, signal_cb arrived, void *owner)
{
    sigset_t set;
    fill_set(&set);
    *signals = (struct signals){.arrived = arrived, .owner = owner};
    signals->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signals->fd < 0)
        return -errno; /* which is libuv's number of it */
    int rc = uv_poll_init(loop, &signals->poll, signals->fd);
    if (rc != 0) {
        close(signals->fd);
        return rc;
    }
    signals->poll.data = signals;
    return uv_poll_start(&signals->poll, UV_READABLE, on_readable);
}

void signals_close(struct signals *signals, struct handles *handles)
{
    uv_poll_stop(&signals->poll);
    handles_close(handles, (uv_handle_t *)&signals->poll);
    close(signals->fd);
}

int signals_pending_stop(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++)
        if (!is_ignored(stops[i]))
            sigaddset(&set, stops[i]);
    const struct timespec none = {0, 0};
    int number = sigtimedwait(&set, NULL, &none);
    return number < 0 ? 0 : number;
}
