/* SPDX-License-Identifier: ISC */
#include "guard/guard_release.h"

#include "base/now.h"
#include "guard/guard_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static void become_release(const struct guard *guard)
{
    char store[16];
    sigset_t none;
    const char *argv[16] = {"leaserun", "release", "--store-fd", store, "--holder", guard->holder};
    int count = 6;
    if (guard->unstarted[0] != '\0') {
        argv[count++] = "--unstarted";
        argv[count++] = guard->unstarted;
    }
    argv[count++] = "--";
    argv[count] = guard->arguments.key;
    snprintf(store, sizeof store, "%d", guard->arguments.store_fd);
    fcntl(guard->arguments.store_fd, F_SETFD, 0);
    fcntl(guard->arguments.leaserun_fd, F_SETFD, 0);
    guard_command_default_signals();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    fexecve(guard->arguments.leaserun_fd, (char *const *)(uintptr_t)argv, environ);
    perror("leaserun-guard: cannot start leaserun to give the lease back");
}

void guard_release(const struct guard *guard)
{
    int64_t until = now_boot_ms() + GUARD_RELEASE_LIMIT_MS;
    pid_t pid = fork();
    if (pid == 0) {
        become_release(guard);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
        struct pollfd wait = {.fd = guard->child_fd, .events = POLLIN};
        struct signalfd_siginfo info;
        int64_t left = until - now_boot_ms();
        if (left <= 0) {
            kill(pid, SIGKILL);
            return;
        }
        if (poll(&wait, 1, (int)left) == 1 && read(guard->child_fd, &info, sizeof info) < 0)
            continue;
    }
}
