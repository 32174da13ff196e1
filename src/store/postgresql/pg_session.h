/* SPDX-License-Identifier: ISC */
/* One connection to the server, one request at a time. The connection is kept up in the background,
 * whether or not a request waits for it. */
#pragma once
#include "loop/alarm.h"
#include "store/postgresql/pg_connect.h"
#include "store/postgresql/pg_foreign_ops.h"
#include "store/postgresql/pg_ops.h"
#include "store/postgresql/pg_prepared.h"
#include "store/postgresql/pg_query.h"
#include "store/postgresql/pg_server.h"
#include "store/postgresql/pg_target.h"
#include "store/postgresql/pg_trust.h"
#include "store/postgresql/pg_wait.h"
#include "store/store_backend.h"

enum pg_session_state {
    PG_SESSION_DOWN,     /* connecting, or refused and waiting for the next request */
    PG_SESSION_GREETING, /* connected; the first statement is on its way */
    PG_SESSION_READY,
    PG_SESSION_BUSY, /* the task's statement is on its way, or a question before it */
    PG_SESSION_CLOSING,
};

#define PG_SESSION_NAME_MAX 64 /* of application names the server keeps 63 bytes */

struct pg_session {
    struct store_backend_hooks hooks; /* these five are filled in by the owner */
    struct pg_target target;
    char application_name[PG_SESSION_NAME_MAX];
    struct pg_trust trust;
    struct pg_foreign *foreign; /* NULL: leases live in our own tables */

    struct pg_server server;
    struct pg_sockets sockets;
    struct pg_connect connect;
    struct pg_query query;
    struct alarm greeting_limit;
    struct alarm identity; /* when the cluster's identity is to be asked for */
    enum pg_session_state state;
    struct pg_wait wait;             /* of the connection */
    struct pg_prepared prepared;     /* of the connection */
    struct pg_task task;             /* task.request: the one being served, NULL for none */
    enum pg_trust_question question; /* BUSY: what is on its way before the task's statement */
    bool is_outage_told;
    bool is_identifying;     /* GREETING, on a connection that was READY */
    struct error last_fault; /* why there is no connection; ERROR_NONE while there is one */
    int64_t ready_since_boot_ms;
};

/* Begins to connect. The rest as store_backend.h has it. */
void pg_session_init(struct pg_session *session, uv_loop_t *loop);
void pg_session_serve(struct pg_session *session, struct store_request *request);
void pg_session_forget(struct pg_session *session);
void pg_session_close(struct pg_session *session, struct handles *handles);
