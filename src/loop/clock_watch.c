/* SPDX-License-Identifier: ISC */
#include "loop/clock_watch.h"

#include "base/list.h"
#include "base/now.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int64_t offset_now_us(void)
{
    return now_wall_us() - now_boot_ms() * 1000;
}

/* Never rings; that it is cancelled is what is waited for. */
static int arm(int fd)
{
    const struct itimerspec far = {.it_value = {.tv_sec = INT64_MAX / 2000000000}};
    int flags = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET;
    return timerfd_settime(fd, flags, &far, NULL) == 0 ? 0 : -errno;
}

static void on_readable(struct watch *inner)
{
    struct clock_watch *watch = LIST_OBJECT(inner, struct clock_watch, watch);
    uint64_t rings;
    if (read(inner->fd, &rings, sizeof rings) >= 0 || errno != ECANCELED)
        return;
    int64_t offset_us = offset_now_us();
    int64_t by_us = offset_us - watch->offset_us;
    watch->offset_us = offset_us;
    arm(inner->fd);
    watch->stepped(watch, by_us);
}

int clock_watch_open(struct clock_watch *watch, uv_loop_t *loop, clock_watch_cb stepped)
{
    *watch = (struct clock_watch){.offset_us = offset_now_us(), .stepped = stepped};
    watch->watch.fd = -1;
    int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = arm(fd);
    if (rc == 0)
        rc = watch_open(&watch->watch, loop, fd, on_readable);
    if (rc != 0)
        close(fd);
    return rc;
}

void clock_watch_close(struct clock_watch *watch, struct handles *handles)
{
    watch_close(&watch->watch, handles);
}
