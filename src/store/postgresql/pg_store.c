/* SPDX-License-Identifier: ISC */
/* The PostgreSQL store: one connection, one request at a time. The connection is kept up in the
 * background, whether or not a request waits for it. */
#include "base/list.h"
#include "base/mem.h"
#include "build_id.h"
#include "loop/alarm.h"
#include "store/postgresql/pg_connect.h"
#include "store/postgresql/pg_failure.h"
#include "store/postgresql/pg_ops.h"
#include "store/postgresql/pg_query.h"
#include "store/postgresql/pg_schema.h"
#include "store/postgresql/pg_server.h"
#include "store/postgresql/pg_target.h"
#include "store/store_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum state {
    STATE_DOWN,     /* connecting, or refused and waiting for the next request */
    STATE_GREETING, /* connected; the first statement is on its way */
    STATE_READY,
    STATE_BUSY, /* the task's statement is on its way */
    STATE_CLOSING,
};

#define APPLICATION_NAME_MAX 64 /* the server keeps 63 bytes */
#define FLAPPING_MS          1000
#define IDENTITY_AFTER_MS    1000

struct pg_store {
    struct store_backend_hooks hooks;
    char *schema;
    struct pg_target target;
    struct pg_server server;
    struct pg_sockets sockets;
    struct handles handles;
    struct pg_connect connect;
    struct pg_query query;
    struct alarm greeting_limit;
    struct alarm identity; /* when the cluster's identity is to be asked for */
    enum state state;
    struct pg_task task; /* task.request: the one being served, NULL for none */
    bool is_outage_told;
    bool is_identifying;     /* GREETING, on a connection that was READY */
    struct error last_fault; /* why there is no connection; ERROR_NONE while there is one */
    int64_t ready_since_boot_ms;
    char application_name[APPLICATION_NAME_MAX];
};

/* ---- answers and outages ----------------------------------------------------------------- */

static void send_greeting(struct pg_store *store);

static bool is_won(const struct store_request *request)
{
    return request->kind == STORE_CLAIM && request->outcome == STORE_ANSWERED &&
           request->u.claim.count > 0 && request->u.claim.items[0].verdict == CLAIM_WON;
}

static void finish(struct pg_store *store, enum store_outcome outcome)
{
    store->task.request->outcome = outcome;
    bool holds_more = is_won(store->task.request);
    pg_ops_done(&store->task);
    store->hooks.answered(store->hooks.store);
    if (holds_more && store->server.system_identifier[0] == '\0' &&
        !store->server.hides_identifier && store->state != STATE_CLOSING)
        alarm_set_in(&store->identity, IDENTITY_AFTER_MS);
}

/* Once something is held, we want to know the cluster again after a lost connection. A run that is
 * over by now need not. */
static void on_identity(struct alarm *alarm)
{
    struct pg_store *store = LIST_OBJECT(alarm, struct pg_store, identity);
    if (store->state == STATE_BUSY)
        alarm_set_in(&store->identity, IDENTITY_AFTER_MS);
    if (store->state != STATE_READY)
        return;
    alarm_set_in(&store->greeting_limit, pg_connect_attempt_ms(&store->connect));
    store->is_identifying = true;
    send_greeting(store);
}

static void finish_failed(struct pg_store *store, enum store_failure failure,
                          const struct error *err)
{
    struct store_request *request = store->task.request;
    request->failure = failure;
    request->error = *err;
    finish(store, STORE_FAILED);
}

static void tell_outage(struct pg_store *store, const struct error *why)
{
    store->last_fault = *why;
    if (store->task.request != NULL) /* should its limit come first, this is the reason */
        store->task.request->error = *why;
    if (store->is_outage_told)
        return;
    store->is_outage_told = true;
    store->hooks.lost(store->hooks.store, why);
}

static void drop_connection(struct pg_store *store)
{
    alarm_stop(&store->greeting_limit);
    pg_query_drop(&store->query);
    store->is_identifying = false;
    store->state = STATE_DOWN;
}

/* At once, unless the last one hardly lived: a server that takes connections and drops them is not
 * to be hammered. */
static void reconnect(struct pg_store *store)
{
    if (now_boot_ms() - store->ready_since_boot_ms < FLAPPING_MS)
        pg_connect_start_later(&store->connect);
    else
        pg_connect_start(&store->connect);
}

/* ---- the statement of the task ----------------------------------------------------------- */

static void send_task(struct pg_store *store)
{
    struct pg_task *task = &store->task;
    struct pg_statement statement = {0};
    struct error err = {0};
    task->conn = store->query.conn;
    task->request->error = (struct error){.kind = ERROR_NONE};
    task->limit_ms = task->request->give_up_boot_ms - now_boot_ms();
    pg_ops[task->request->kind].build(task, &statement);
    store->state = STATE_BUSY;
    if (task->request->sent_boot_ms == 0)
        task->request->sent_boot_ms = now_boot_ms();
    bool is_sent = pg_query_send(&store->query, &statement, &err);
    pg_statement_done(&statement);
    if (is_sent)
        return;
    drop_connection(store);
    reconnect(store);
    tell_outage(store, &err);
    finish_failed(store, FAILURE_UNREACHABLE, &err);
}

static void refuse_task(struct pg_store *store, const PGresult *result)
{
    struct pg_task *task = &store->task;
    const struct pg_op *op = &pg_ops[task->request->kind];
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    struct error err = {0};
    if (op->has_other_way != NULL && sqlstate != NULL && op->has_other_way(task, sqlstate)) {
        task->step++;
        send_task(store);
        return;
    }
    enum store_failure failure = pg_failure_of_result(result, op->name, store->schema, &err);
    store->state = STATE_READY;
    if (failure == FAILURE_READ_ONLY) {
        drop_connection(store);
        pg_connect_skip(&store->connect);
    }
    finish_failed(store, failure, &err);
}

static void read_task(struct pg_store *store, const PGresult *result)
{
    struct pg_task *task = &store->task;
    struct error err = {0};
    switch (pg_ops[task->request->kind].read(task, result, &err)) {
    case PG_NEXT_DONE:
        store->state = STATE_READY;
        finish(store, STORE_ANSWERED);
        break;
    case PG_NEXT_STEP:
        task->step++;
        send_task(store);
        break;
    case PG_NEXT_FAILED:
        store->state = STATE_READY;
        finish_failed(store, err.kind == ERROR_CONFIG ? FAILURE_SCHEMA : FAILURE_OTHER, &err);
        break;
    }
}

static void doubt_task(struct pg_store *store)
{
    struct error err = {0};
    error_set(&err, ERROR_STORE,
              "%s is in doubt: the server stopped waiting for its synchronous standby",
              pg_ops[store->task.request->kind].name);
    store->state = STATE_READY;
    finish_failed(store, FAILURE_UNREACHABLE, &err);
}

static bool is_rows(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

/* ---- the greeting ------------------------------------------------------------------------ */

static void reject_server(struct pg_store *store, const struct error *why)
{
    drop_connection(store);
    pg_connect_skip(&store->connect);
    tell_outage(store, why);
}

static void send_greeting(struct pg_store *store)
{
    struct pg_statement statement = {0};
    struct error err = {0};
    pg_server_build_greeting(&store->server, &statement);
    store->state = STATE_GREETING;
    bool is_sent = pg_query_send(&store->query, &statement, &err);
    pg_statement_done(&statement);
    if (!is_sent)
        reject_server(store, &err);
}

static void become_ready(struct pg_store *store)
{
    alarm_stop(&store->greeting_limit);
    store->is_identifying = false;
    pg_connect_settle(&store->connect);
    store->state = STATE_READY;
    store->ready_since_boot_ms = now_boot_ms();
    store->last_fault.kind = ERROR_NONE;
    if (store->is_outage_told) {
        store->is_outage_told = false;
        store->hooks.restored(store->hooks.store);
    }
    if (store->task.request != NULL && store->state == STATE_READY)
        send_task(store);
}

static void read_greeting(struct pg_store *store, const PGresult *result)
{
    struct error err = {0};
    if (is_rows(result)) {
        if (pg_server_read_greeting(&store->server, result, &err))
            become_ready(store);
        else
            reject_server(store, &err);
        return;
    }
    enum store_failure failure = pg_failure_of_result(result, "the greeting", store->schema, &err);
    if (failure == FAILURE_RIGHTS && !store->server.hides_identifier) {
        store->server.hides_identifier = true;
        send_greeting(store);
        return;
    }
    reject_server(store, &err);
}

static void on_greeting_limit(struct alarm *alarm)
{
    struct pg_store *store = LIST_OBJECT(alarm, struct pg_store, greeting_limit);
    struct error err = {0};
    error_set(&err, ERROR_STORE, "the database server took the connection but answers nothing");
    reject_server(store, &err);
}

/* ---- what the connection tells ----------------------------------------------------------- */

static void on_answered(void *owner, const PGresult *result, bool is_doubtful)
{
    struct pg_store *store = owner;
    struct error note = {0};
    if (is_rows(result) && pg_server_read_reply(&store->server, result, &note))
        store->hooks.note(store->hooks.store, false, note.text);
    if (store->state == STATE_GREETING)
        read_greeting(store, result);
    else if (store->state != STATE_BUSY)
        return;
    else if (!is_rows(result))
        refuse_task(store, result);
    else if (is_doubtful && pg_ops[store->task.request->kind].writes)
        doubt_task(store);
    else
        read_task(store, result);
}

static void on_broken(void *owner, const struct error *why)
{
    struct pg_store *store = owner;
    struct error err = *why; /* it lives in what is dropped */
    enum state before = store->state;
    if (before == STATE_GREETING && !store->is_identifying) {
        reject_server(store, &err);
        return;
    }
    drop_connection(store);
    reconnect(store);
    tell_outage(store, &err);
    if (before == STATE_BUSY)
        finish_failed(store, FAILURE_UNREACHABLE, &err);
}

static const struct pg_query_listener query_listener = {
    .answered = on_answered,
    .broken = on_broken,
};

static void on_connected(void *owner, PGconn *conn)
{
    struct pg_store *store = owner;
    struct error err = {0};
    if (!pg_query_attach(&store->query, &store->sockets, conn, &query_listener, store)) {
        error_set(&err, ERROR_SYSTEM, "the database socket cannot be watched");
        reject_server(store, &err);
        return;
    }
    alarm_set_in(&store->greeting_limit, pg_connect_attempt_ms(&store->connect));
    send_greeting(store);
}

static void on_connect_failed(void *owner, const struct error *err, bool is_final)
{
    struct pg_store *store = owner;
    tell_outage(store, err);
    if (is_final && store->task.request != NULL)
        finish_failed(store, FAILURE_REFUSED, err);
}

static const struct pg_connect_listener connect_listener = {
    .connected = on_connected,
    .failed = on_connect_failed,
};

/* ---- the backend ------------------------------------------------------------------------- */

static bool open_store(uv_loop_t *loop, const struct store_config *config,
                       const struct store_backend_hooks *hooks, void **ret_state, struct error *err)
{
    struct pg_target target;
    if (!pg_target_parse(config->url, &target, err))
        return false;
    struct pg_store *store = mem_alloc(sizeof *store);
    store->hooks = *hooks;
    store->schema =
        mem_strdup(config->schema != NULL && config->schema[0] != '\0' ? config->schema
                                                                       : STORE_SCHEMA_DEFAULT);
    store->target = target;
    store->sockets.loop = loop;
    store->ready_since_boot_ms = INT64_MIN / 2;
    bool has_label = config->label != NULL;
    snprintf(store->application_name, sizeof store->application_name, "leaserun%s%s",
             has_label ? ":" : "", has_label ? config->label : "");
    pg_server_init(&store->server);
    alarm_init(&store->greeting_limit, loop, on_greeting_limit);
    alarm_init(&store->identity, loop, on_identity);
    pg_connect_init(&store->connect, &store->sockets, &store->target, &connect_listener, store);
    store->connect.application_name = store->application_name;
    pg_connect_start(&store->connect);
    *ret_state = store;
    return true;
}

static void serve(void *state, struct store_request *request)
{
    struct pg_store *store = state;
    store->task = (struct pg_task){
        .request = request,
        .schema = store->schema,
        .server = &store->server,
    };
    if (request->kind == STORE_RENEW)
        pg_connect_bound(&store->connect, request->limit_ms);
    if (store->state == STATE_READY) {
        send_task(store);
        return;
    }
    request->error = store->last_fault;
    if (store->last_fault.kind == ERROR_NONE)
        pg_connect_describe(&store->connect, &request->error);
    if (store->state == STATE_DOWN)
        pg_connect_start(&store->connect);
}

static void forget(void *state)
{
    struct pg_store *store = state;
    bool is_under_way = store->state == STATE_BUSY || store->is_identifying;
    pg_ops_done(&store->task);
    if (!is_under_way)
        return;
    drop_connection(store);
    reconnect(store);
}

static void free_store(struct pg_store *store)
{
    struct store_backend_hooks hooks = store->hooks;
    pg_target_done(&store->target);
    free(store->schema);
    free(store);
    hooks.closed(hooks.store);
}

static void on_handles_closed(struct handles *handles)
{
    struct pg_store *store = LIST_OBJECT(handles, struct pg_store, handles);
    if (store->sockets.open_count == 0)
        free_store(store);
}

static void on_sockets_closed(struct pg_sockets *sockets)
{
    struct pg_store *store = LIST_OBJECT(sockets, struct pg_store, sockets);
    if (store->handles.closing_count == 0)
        free_store(store);
}

static void close_store(void *state)
{
    struct pg_store *store = state;
    drop_connection(store);
    pg_ops_done(&store->task);
    store->state = STATE_CLOSING;
    store->handles.closed = on_handles_closed;
    store->sockets.all_closed = on_sockets_closed;
    pg_connect_close(&store->connect, &store->handles);
    alarm_close(&store->greeting_limit, &store->handles);
    alarm_close(&store->identity, &store->handles);
}

static char *print_sql(const struct store_config *config)
{
    bool is_named = config->schema != NULL && config->schema[0] != '\0';
    return pg_schema_print(is_named ? config->schema : STORE_SCHEMA_DEFAULT);
}

__attribute__((visibility("default"))) const struct store_backend store_backend_v1 = {
    .build_id = BUILD_ID,
    .open = open_store,
    .serve = serve,
    .forget = forget,
    .close = close_store,
    .print_sql = print_sql,
};
