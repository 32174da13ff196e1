/* SPDX-License-Identifier: ISC */
#include "loop/watch.h"

#include <unistd.h>

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = poll->data;
    watch->readable(watch);
}

int watch_open(struct watch *watch, uv_loop_t *loop, int fd, watch_cb readable)
{
    *watch = (struct watch){.fd = -1, .readable = readable};
    int rc = uv_poll_init(loop, &watch->poll, fd);
    if (rc != 0)
        return rc;
    watch->fd = fd;
    watch->poll.data = watch;
    return uv_poll_start(&watch->poll, UV_READABLE, on_readable);
}

void watch_pause(struct watch *watch)
{
    if (watch->fd >= 0)
        uv_poll_stop(&watch->poll);
}

void watch_resume(struct watch *watch)
{
    if (watch->fd >= 0)
        uv_poll_start(&watch->poll, UV_READABLE, on_readable);
}

void watch_close(struct watch *watch, struct handles *handles)
{
    if (watch->fd < 0)
        return;
    uv_poll_stop(&watch->poll);
    handles_close(handles, (uv_handle_t *)&watch->poll);
    close(watch->fd);
    watch->fd = -1;
}
