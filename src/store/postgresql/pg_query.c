/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_query.h"

#include "store/postgresql/pg_failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pg_statement_add(struct pg_statement *statement, char *owned_param)
{
    statement->params[statement->param_count++] = owned_param;
}

void pg_statement_add_binary(struct pg_statement *statement, char *owned_param, size_t length)
{
    statement->lengths[statement->param_count] = (int)length;
    pg_statement_add(statement, owned_param);
}

void pg_statement_done(struct pg_statement *statement)
{
    for (int i = 0; i < statement->param_count; i++)
        free(statement->params[i]);
    free(statement->sql);
    free(statement->name);
    *statement = (struct pg_statement){0};
}

/* ---- notices ----------------------------------------------------------------------------- */

static const char *field(const PGresult *result, int code)
{
    const char *text = PQresultErrorField(result, code);
    return text == NULL ? "" : text;
}

/* libpq's own receiver prints on stderr, which is cron mail. */
static void on_notice(void *owner, const PGresult *notice)
{
    struct pg_query *query = owner;
    const char *severity = field(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (strcmp(severity, "WARNING") == 0)
        query->is_doubtful = true;
    if (strcmp(severity, "FATAL") != 0)
        return;
    const char *sqlstate = field(notice, PG_DIAG_SQLSTATE);
    error_set(&query->farewell, ERROR_STORE, "the server ended the connection: %s (SQLSTATE %s)",
              field(notice, PG_DIAG_MESSAGE_PRIMARY), sqlstate);
    snprintf(query->farewell.sqlstate, sizeof query->farewell.sqlstate, "%.5s", sqlstate);
}

/* ---- the statement ----------------------------------------------------------------------- */

static void tell_broken(struct pg_query *query)
{
    struct error why = query->farewell;
    if (why.kind == ERROR_NONE)
        pg_failure_of_connection(query->conn, &why);
    query->listener->broken(query->owner, &why);
}

static bool is_fault(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK;
}

/* A later fault replaces rows: they were not committed. */
static void keep(struct pg_query *query, PGresult *result)
{
    if (query->result == NULL || (is_fault(result) && !is_fault(query->result))) {
        PQclear(query->result);
        query->result = result;
    } else {
        PQclear(result);
    }
}

static void finish(struct pg_query *query)
{
    PGresult *result = query->result;
    query->result = NULL;
    query->is_busy = false;
    query->listener->answered(query->owner, result, query->is_doubtful);
    PQclear(result);
}

static bool push(struct pg_query *query)
{
    int rc = PQflush(query->conn);
    return rc >= 0 &&
           pg_socket_listen(query->socket, rc == 1 ? UV_READABLE | UV_WRITABLE : UV_READABLE) == 0;
}

/* No statement of ours copies. libpq would answer the same for ever. */
static bool is_copy(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

static void leave_copy(struct pg_query *query, PGresult *result)
{
    PQclear(result);
    error_set(&query->farewell, ERROR_STORE, "the server answered what it was not asked: a COPY");
    tell_broken(query);
}

static void take_notifications(struct pg_query *query)
{
    for (PGnotify *n; (n = PQnotifies(query->conn)) != NULL; PQfreemem(n))
        query->listener->notified(query->owner, n->extra);
}

static void on_socket(void *owner)
{
    struct pg_query *query = owner;
    bool is_alive = PQconsumeInput(query->conn) == 1;
    take_notifications(query);
    while (query->is_busy && PQisBusy(query->conn) == 0) {
        PGresult *result = PQgetResult(query->conn);
        if (result != NULL && is_copy(result)) {
            leave_copy(query, result);
            return;
        }
        if (result != NULL) {
            keep(query, result);
            continue;
        }
        if (PQstatus(query->conn) == CONNECTION_BAD || query->result == NULL)
            break; /* what libpq made up for a connection that ended is no answer */
        finish(query);
        return;
    }
    if (!query->is_busy && query->conn != NULL)
        PQisBusy(query->conn); /* reads notices that came unasked */
    if (!is_alive || PQstatus(query->conn) == CONNECTION_BAD || !push(query))
        tell_broken(query);
}

bool pg_query_attach(struct pg_query *query, struct pg_sockets *sockets, PGconn *conn,
                     const struct pg_query_listener *listener, void *owner)
{
    *query = (struct pg_query){.conn = conn, .listener = listener, .owner = owner};
    PQsetNoticeReceiver(conn, on_notice, query);
    query->socket = pg_socket_open(sockets, PQsocket(conn), UV_READABLE, on_socket, query);
    if (query->socket != NULL && PQsetnonblocking(conn, 1) == 0)
        return true;
    pg_query_drop(query);
    return false;
}

static int hand_over(PGconn *conn, const struct pg_statement *statement)
{
    const char *const *params = (const char *const *)statement->params;
    int formats[PG_PARAMS_MAX], format = statement->is_binary ? 1 : 0;
    for (int i = 0; i < statement->param_count; i++)
        formats[i] = statement->lengths[i] > 0 ? 1 : 0;
    if (statement->is_script)
        return PQsendQuery(conn, statement->sql);
    if (statement->name == NULL)
        return PQsendQueryParams(conn, statement->sql, statement->param_count, NULL, params,
                                 statement->lengths, formats, format);
    if (statement->sql != NULL)
        return PQsendPrepare(conn, statement->name, statement->sql, 0, NULL);
    return PQsendQueryPrepared(conn, statement->name, statement->param_count, params,
                               statement->lengths, formats, format);
}

bool pg_query_send(struct pg_query *query, const struct pg_statement *statement, struct error *err)
{
    query->is_doubtful = false;
    query->is_busy = hand_over(query->conn, statement) == 1;
    if (query->is_busy && push(query))
        return true;
    pg_failure_of_connection(query->conn, err);
    return false;
}

void pg_query_drop(struct pg_query *query)
{
    pg_socket_close(&query->socket);
    PQclear(query->result);
    PQfinish(query->conn);
    *query = (struct pg_query){0};
}
