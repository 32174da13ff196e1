/* SPDX-License-Identifier: ISC */
/* A uv_poll_t on libpq's socket. libpq may change or close the socket within any call while it
 * connects, and a new connection often gets the number of the old one, so a watch lives on the
 * heap, is closed before such a call and made anew after it. */
#pragma once
#include <uv.h>

struct pg_socket;
/* Called whatever the event: libpq decides what it means. An error of poll itself (a refused
 * connect comes as one) has ended the watching: pg_socket_listen starts it again. */
typedef void (*pg_socket_cb)(void *owner);

/* How many are being closed, and who is told when none is left. */
struct pg_sockets {
    uv_loop_t *loop;
    int open_count;
    void (*all_closed)(struct pg_sockets *sockets); /* NULL until somebody waits */
};

/* NULL when the descriptor cannot be watched. events: UV_READABLE, UV_WRITABLE. */
struct pg_socket *pg_socket_open(struct pg_sockets *sockets, int fd, int events, pg_socket_cb ready,
                                 void *owner);
int pg_socket_listen(struct pg_socket *socket, int events);
void pg_socket_close(struct pg_socket **socket); /* before the descriptor is; takes NULL */
