/* SPDX-License-Identifier: ISC */
/* From a target to a connection, without ever blocking: names are looked up in a thread, one host
 * and one address are tried at a time, each with its own limit, and after the last one the round
 * begins again 0.2 to 2 s later. */
#pragma once
#include "base/backoff.h"
#include "base/error.h"
#include "loop/alarm.h"
#include "store/postgresql/pg_lookup.h"
#include "store/postgresql/pg_socket.h"
#include "store/postgresql/pg_target.h"

#include <libpq-fe.h>

enum pg_connect_state {
    PG_CONNECT_OFF,        /* connected, refused for good, or not begun */
    PG_CONNECT_LOOKING_UP, /* waits for the current host's addresses */
    PG_CONNECT_POLLING,    /* conn is on its way */
    PG_CONNECT_PAUSING,    /* the alarm begins the next attempt */
};

struct pg_connect;

struct pg_seat { /* what is known of one host of the target */
    struct pg_connect *connect;
    struct pg_lookup *lookup; /* on its way; never two for one host */
    struct pg_addresses addresses;
};

struct pg_connect_listener {
    /* Hands the connection over: the receiver finishes it. */
    void (*connected)(void *owner, PGconn *conn);
    /* One attempt failed. is_final: we are refused, and nothing more is tried until the next
     * pg_connect_start; else the next attempt is already planned. */
    void (*failed)(void *owner, const struct error *err, bool is_final);
};

struct pg_connect {
    struct pg_sockets *sockets;
    const struct pg_target *target;
    const struct pg_connect_listener *listener;
    void *owner;
    const char *application_name; /* may be changed between attempts */

    enum pg_connect_state state;
    struct pg_seat *seats; /* one for each host */
    size_t host_index, address_index;
    PGconn *conn;
    struct pg_socket *socket;
    struct alarm alarm; /* the attempt's limit, or the end of the pause */
    struct backoff backoff;
    int64_t bound_ms; /* 0: none */
};

void pg_connect_init(struct pg_connect *connect, struct pg_sockets *sockets,
                     const struct pg_target *target, const struct pg_connect_listener *listener,
                     void *owner);

/* Begins at once; nothing when it is under way. */
void pg_connect_start(struct pg_connect *connect);
/* The same for a connection that did not last: after a pause. */
void pg_connect_start_later(struct pg_connect *connect);
/* The connection that was handed over is of no use (read-only, a strange server): goes on with
 * the next address or host. */
void pg_connect_skip(struct pg_connect *connect);
/* The connection that was handed over works: the next outage starts with short pauses. */
void pg_connect_settle(struct pg_connect *connect);

/* What is under way, as a sentence: for whoever is asked while nothing has failed yet. */
void pg_connect_describe(const struct pg_connect *connect, struct error *ret_sentence);

/* From now on a lease depends on it: no attempt on a silent host takes much longer than this, so
 * that there is time for another. */
void pg_connect_bound(struct pg_connect *connect, int64_t ms);

/* How long one attempt may take, the first statement on it included. */
int64_t pg_connect_attempt_ms(const struct pg_connect *connect);

/* Drops what is under way; pending lookups are left to end by themselves. */
void pg_connect_close(struct pg_connect *connect, struct handles *handles);
