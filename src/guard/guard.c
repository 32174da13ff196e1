/* SPDX-License-Identifier: ISC */
#include "guard/guard.h"

#include "base/exit_code.h"
#include "base/fds.h"
#include "guard/guard_link.h"
#include "guard/guard_release.h"
#include "guard/guard_state.h"
#include "guard/guard_tree.h"
#include "guard/guard_words.h"
#include "guard/tree.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Nothing but SIGKILL and SIGSTOP reaches the guard: a terminal's, a `kill 0`, a service
 * manager's TERM to the whole group are leaserun's business. Faults stay deadly. */
static void block_signals(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&set, faults[i]);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGCHLD, SIG_DFL);
}

/* What is not ours among the inherited descriptors is the command's. */
static void set_ours_apart(struct guard *guard)
{
    const struct guard_arguments *ours = &guard->arguments;
    size_t kept = 0;
    fds_take_stock(&guard->given);
    for (size_t i = 0; i < guard->given.count; i++) {
        int fd = guard->given.numbers[i];
        if (fd == ours->socket_fd || fd == ours->store_fd || fd == ours->leaserun_fd)
            fcntl(fd, F_SETFD, FD_CLOEXEC);
        else if (fd == guard->setup.stdin_fd || fd == guard->setup.stdout_fd ||
                 fd == guard->setup.stderr_fd)
            fcntl(fd, F_SETFD, FD_CLOEXEC);
        else
            guard->given.numbers[kept++] = fd;
    }
    guard->given.count = kept;
}

static bool open_own(struct guard *guard)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    guard->child_fd = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    /* poll(2)'s own timeout stands still while the machine sleeps. */
    guard->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    return guard->child_fd >= 0 && guard->timer_fd >= 0 && tree_adopt_orphans();
}

/* leaserun is the process that made the socket; were it gone already, our parent is another, and
 * nothing is started for it. Without a pidfd of it only its tree can be ended in time. */
static void find_leaserun(struct guard *guard)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    guard->leaserun_pidfd = -1;
    if (getsockopt(guard->arguments.socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return;
    guard->leaserun = peer.pid;
    guard->leaserun_pidfd = pidfd_open(peer.pid, 0);
}

static void arm_timer(const struct guard *guard)
{
    int64_t next = GUARD_NEVER;
    for (int i = 0; i < GUARD_INSTANT_COUNT; i++)
        if (guard->due_boot_ms[i] < next)
            next = guard->due_boot_ms[i];
    struct itimerspec at = {.it_value = {0, 0}};
    if (next != GUARD_NEVER) {
        next = next < 1 ? 1 : next; /* all zero would disarm it */
        at.it_value = (struct timespec){next / 1000, next % 1000 * 1000000};
    }
    timerfd_settime(guard->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void wait_for_events(struct guard *guard)
{
    struct pollfd fds[] = {
        {.fd = guard->is_orphaned ? -1 : guard->arguments.socket_fd, .events = POLLIN},
        {.fd = guard->child_fd, .events = POLLIN},
        {.fd = guard->timer_fd, .events = POLLIN},
        {.fd = guard->fault_fd, .events = POLLIN},
    };
    arm_timer(guard);
    if (poll(fds, sizeof fds / sizeof fds[0], -1) < 0)
        return;
    if (fds[0].revents != 0)
        guard_words_read(guard); /* before the deadlines: a renewal may wait there */
    guard_tree_do_due(guard);
    if (guard->fault_fd >= 0)
        guard_tree_on_fault(guard);
    if (fds[1].revents != 0)
        guard_tree_on_children(guard);
}

static bool set_up(struct guard *guard, int argc, char **argv)
{
    *guard = (struct guard){.fault_fd = -1};
    for (int i = 0; i < GUARD_INSTANT_COUNT; i++)
        guard->due_boot_ms[i] = GUARD_NEVER;
    block_signals();
    prctl(PR_SET_DUMPABLE, 0); /* it holds the way to the store */
    if (!guard_arguments_parse(&guard->arguments, argc, argv)) {
        fputs("leaserun-guard: leaserun starts this program; it is of no use alone\n", stderr);
        return false;
    }
    if (!guard_setup_read(&guard->setup, guard->arguments.setup_fd)) {
        fputs("leaserun-guard: it was not told what the command is to be\n", stderr);
        return false;
    }
    close(guard->arguments.setup_fd);
    set_ours_apart(guard);
    if (!open_own(guard)) {
        perror("leaserun-guard: cannot watch over a command");
        return false;
    }
    return true;
}

int guard_run(int argc, char **argv)
{
    struct guard guard;
    if (!set_up(&guard, argc, argv))
        return EXIT_SYSTEM;
    find_leaserun(&guard);
    guard_link_tell(guard.arguments.socket_fd, &(struct guard_message){.kind = GUARD_READY});
    while (!guard.is_orphaned || guard_tree_exists(&guard))
        wait_for_events(&guard);
    if (guard.holder[0] != '\0')
        guard_release(&guard);
    guard_ending_done(&guard.ending);
    guard_setup_done(&guard.setup);
    return EXIT_OK;
}
