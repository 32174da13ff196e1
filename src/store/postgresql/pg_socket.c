/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_socket.h"

#include "base/mem.h"

#include <stdlib.h>

struct pg_socket {
    uv_poll_t poll;
    struct pg_sockets *sockets;
    pg_socket_cb ready;
    void *owner;
    int events; /* being watched; 0 when poll has stopped by itself */
};

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct pg_socket *socket = poll->data;
    if (status < 0)
        socket->events = 0;
    socket->ready(socket->owner);
}

static void on_closed(uv_handle_t *handle)
{
    struct pg_socket *socket = handle->data;
    struct pg_sockets *sockets = socket->sockets;
    free(socket);
    if (--sockets->open_count == 0 && sockets->all_closed != NULL)
        sockets->all_closed(sockets);
}

int pg_socket_listen(struct pg_socket *socket, int events)
{
    if (socket->events == events)
        return 0;
    int rc = uv_poll_start(&socket->poll, events, on_event);
    socket->events = rc == 0 ? events : 0;
    return rc;
}

struct pg_socket *pg_socket_open(struct pg_sockets *sockets, int fd, int events, pg_socket_cb ready,
                                 void *owner)
{
    struct pg_socket *socket = mem_alloc(sizeof *socket);
    socket->sockets = sockets;
    socket->ready = ready;
    socket->owner = owner;
    socket->poll.data = socket;
    if (fd < 0 || uv_poll_init(sockets->loop, &socket->poll, fd) != 0) {
        free(socket);
        return NULL;
    }
    sockets->open_count++;
    if (pg_socket_listen(socket, events) != 0)
        pg_socket_close(&socket);
    return socket;
}

void pg_socket_close(struct pg_socket **socket)
{
    if (*socket == NULL)
        return;
    uv_close((uv_handle_t *)&(*socket)->poll, on_closed);
    *socket = NULL;
}
