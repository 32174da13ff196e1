/* SPDX-License-Identifier: ISC */
/* Preloaded before libfaketime: who asks to be told when the wall clock is set (a timerfd with
 * TFD_TIMER_CANCEL_ON_SET) is told when the file FAKETIME_TIMESTAMP_FILE is renamed into place. In
 * the place of such a timerfd it gets a descriptor that watches the file's folder. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default) /* of what takes the place of libc's */

static int watch_fd = -1;
static const char *clock_name;

static int watch_clock(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0 || slash == NULL)
        return fd;
    clock_name = slash + 1;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    inotify_add_watch(fd, folder, IN_MOVED_TO);
    return fd;
}

int timerfd_create(clockid_t clock, int flags)
{
    const char *path = getenv("FAKETIME_TIMESTAMP_FILE");
    if (clock == CLOCK_REALTIME && path != NULL)
        return watch_fd = watch_clock(path);
    int (*create)(clockid_t, int) = (int (*)(clockid_t, int))dlsym(RTLD_NEXT, "timerfd_create");
    return create(clock, flags);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *ret_old)
{
    if (fd >= 0 && fd == watch_fd)
        return 0;
    int (*set)(int, int, const struct itimerspec *, struct itimerspec *) =
        (int (*)(int, int, const struct itimerspec *, struct itimerspec *))dlsym(RTLD_NEXT,
                                                                                 "timerfd_settime");
    return set(fd, flags, value, ret_old);
}

static bool has_clock_changed(const char *events, ssize_t length)
{
    const struct inotify_event *event;
    for (ssize_t at = 0; at < length; at += (ssize_t)(sizeof *event + event->len)) {
        event = (const struct inotify_event *)(const void *)(events + at);
        if (event->len > 0 && strcmp(event->name, clock_name) == 0)
            return true;
    }
    return false;
}

ssize_t read(int fd, void *bytes, size_t length)
{
    char events[4096] __attribute__((aligned(8)));
    ssize_t (*read_bytes)(int, void *, size_t) =
        (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    if (fd < 0 || fd != watch_fd)
        return read_bytes(fd, bytes, length);
    ssize_t got = read_bytes(fd, events, sizeof events);
    errno = got > 0 && has_clock_changed(events, got) ? ECANCELED : EAGAIN;
    return -1;
}
