/* SPDX-License-Identifier: ISC */
/* One connection that is up, and at most one statement on it. An answer counts only when the
 * server's ReadyForQuery has come after it without an error: at serializable a statement may
 * deliver rows and fail after that. Nothing is ever cancelled: a connection whose answer nobody
 * waits for is dropped. */
#pragma once
#include "base/error.h"
#include "store/postgresql/pg_socket.h"

#include <libpq-fe.h>
#include <stdbool.h>

#define PG_PARAMS_MAX 16

struct pg_statement {
    char *sql;                   /* owned; NULL: the prepared one of that name */
    char *name;                  /* owned; with sql: it is to be prepared, no more */
    char *params[PG_PARAMS_MAX]; /* owned; NULL is NULL */
    int lengths[PG_PARAMS_MAX];  /* of those in binary form; 0: in text form */
    int param_count;
    bool is_binary; /* the answer's values in binary form */
    bool is_script; /* several statements, no parameters: one transaction */
};
void pg_statement_add(struct pg_statement *statement, char *owned_param);
void pg_statement_add_binary(struct pg_statement *statement, char *owned_param, size_t length);
void pg_statement_done(struct pg_statement *statement);

struct pg_query_listener {
    /* result: rows, or the fault; lives until the return. is_doubtful: the server warned that it
     * had stopped waiting for a synchronous standby. */
    void (*answered)(void *owner, const PGresult *result, bool is_doubtful);
    /* A notification came, on whatever channel was listened to. */
    void (*notified)(void *owner, const char *payload);
    /* The connection is gone, with or without a statement on it. pg_query_drop is the owner's. */
    void (*broken)(void *owner, const struct error *why);
};

struct pg_query {
    PGconn *conn; /* NULL: none */
    struct pg_socket *socket;
    const struct pg_query_listener *listener;
    void *owner;
    PGresult *result; /* the first rows, replaced by the first fault */
    bool is_busy;
    bool is_doubtful;
    struct error farewell; /* a FATAL that came as a notice: why the connection ended */
};

/* Takes the connection over. False, and the connection finished, when it cannot be watched. */
bool pg_query_attach(struct pg_query *query, struct pg_sockets *sockets, PGconn *conn,
                     const struct pg_query_listener *listener, void *owner);

/* False, and err, when libpq does not take it; the connection is to be dropped then. */
bool pg_query_send(struct pg_query *query, const struct pg_statement *statement, struct error *err);

void pg_query_drop(struct pg_query *query); /* without connection: nothing */
