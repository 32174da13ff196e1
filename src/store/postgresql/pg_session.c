/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_session.h"

#include "base/list.h"
#include "store/postgresql/pg_failure.h"
#include "store/postgresql/pg_quick.h"

#include <stdlib.h>

#define FLAPPING_MS       1000
#define IDENTITY_AFTER_MS 1000
#define READ_ONLY_MS      10000 /* a lone host that takes no writes is asked on one connection */

/* ---- answers and outages ----------------------------------------------------------------- */

static void send_greeting(struct pg_session *session);

static bool has_won(const struct store_request *request)
{
    if (request->kind != STORE_CLAIM || request->outcome != STORE_ANSWERED)
        return false;
    for (size_t i = 0; i < request->u.claim.count; i++)
        if (request->u.claim.items[i].verdict == CLAIM_WON)
            return true;
    return false;
}

static void finish(struct pg_session *session, enum store_outcome outcome)
{
    session->task.request->outcome = outcome;
    bool holds_more = has_won(session->task.request);
    pg_ops_done(&session->task);
    session->hooks.answered(session->hooks.store);
    if (holds_more && session->server.system_identifier[0] == '\0' &&
        !session->server.hides_identifier && session->state != PG_SESSION_CLOSING)
        alarm_set_in(&session->identity, IDENTITY_AFTER_MS);
}

/* Once something is held, we want to know the cluster again after a lost connection. A run that is
 * over by now need not. */
static void on_identity(struct alarm *alarm)
{
    struct pg_session *session = LIST_OBJECT(alarm, struct pg_session, identity);
    if (session->state == PG_SESSION_BUSY)
        alarm_set_in(&session->identity, IDENTITY_AFTER_MS);
    if (session->state != PG_SESSION_READY)
        return;
    alarm_set_in(&session->greeting_limit, pg_connect_attempt_ms(&session->connect));
    session->is_identifying = true;
    send_greeting(session);
}

static void finish_failed(struct pg_session *session, enum store_failure failure,
                          const struct error *err)
{
    struct store_request *request = session->task.request;
    request->failure = failure;
    request->error = *err;
    finish(session, STORE_FAILED);
}

static void tell_outage(struct pg_session *session, const struct error *why)
{
    session->last_fault = *why;
    if (session->task.request != NULL) /* should its limit come first, this is the reason */
        session->task.request->error = *why;
    if (session->is_outage_told)
        return;
    session->is_outage_told = true;
    session->hooks.lost(session->hooks.store, why);
}

static void drop_connection(struct pg_session *session)
{
    alarm_stop(&session->greeting_limit);
    pg_query_drop(&session->query);
    session->is_identifying = false;
    session->wait = (struct pg_wait){.is_listening = false};
    session->prepared = (struct pg_prepared){.is_used = false};
    session->state = PG_SESSION_DOWN;
}

/* At once, unless the last one hardly lived: a server that takes connections and drops them is not
 * to be hammered. */
static void reconnect(struct pg_session *session)
{
    if (now_boot_ms() - session->ready_since_boot_ms < FLAPPING_MS)
        pg_connect_start_later(&session->connect);
    else
        pg_connect_start(&session->connect);
}

/* ---- the statement of the task ----------------------------------------------------------- */

static void send_statement(struct pg_session *session, struct pg_statement *statement)
{
    struct error err = {0};
    session->state = PG_SESSION_BUSY;
    bool is_sent = pg_query_send(&session->query, statement, &err);
    pg_statement_done(statement);
    if (is_sent)
        return;
    drop_connection(session);
    reconnect(session);
    tell_outage(session, &err);
    finish_failed(session, FAILURE_UNREACHABLE, &err);
}

static struct pg_op op_of(const struct pg_session *session)
{
    enum store_kind kind = session->task.request->kind;
    return session->foreign == NULL ? pg_ops[kind] : pg_foreign_op(kind);
}

/* The task whose next statement is about our own tables; NULL: it is about another's. */
static const struct pg_task *task_of_own(const struct pg_session *session)
{
    return session->foreign == NULL ? &session->task : pg_foreign_own_task(&session->task);
}

static void send_task(struct pg_session *session)
{
    const struct pg_op op = op_of(session);
    struct pg_task *task = &session->task;
    struct pg_statement statement = {0};
    struct error err = {0};
    task->conn = session->query.conn;
    task->schema = session->trust.schema;
    task->request->error = (struct error){.kind = ERROR_NONE};
    task->limit_ms = task->request->give_up_boot_ms - now_boot_ms();
    if (op.check != NULL && !op.check(task, &err)) {
        session->state = PG_SESSION_READY;
        finish_failed(session, FAILURE_SCHEMA, &err);
        return;
    }
    session->question = pg_trust_next(&session->trust, task_of_own(session));
    if (session->question != PG_TRUST_NOTHING) {
        pg_trust_build(&session->trust, session->question, &statement);
        send_statement(session, &statement);
        return;
    }
    if (pg_prepared_asks(task)) {
        pg_prepared_build(task, &statement);
        send_statement(session, &statement);
        return;
    }
    op.build(task, &statement);
    if (task->request->sent_boot_ms == 0)
        task->request->sent_boot_ms = now_boot_ms();
    send_statement(session, &statement);
}

/* Another host may take writes. Where there is none, this one may be promoted, which needs no new
 * connection; but its name or a balancer may lead elsewhere by then. */
static void leave_read_only(struct pg_session *session)
{
    bool is_fresh = now_boot_ms() - session->ready_since_boot_ms < READ_ONLY_MS;
    if (session->target.host_count == 1 && is_fresh)
        return;
    drop_connection(session);
    pg_connect_skip(&session->connect);
}

static void refuse_task(struct pg_session *session, const PGresult *result)
{
    struct pg_task *task = &session->task;
    const struct pg_op op = op_of(session);
    if (pg_wait_is_under_way(task)) { /* the claim itself was answered */
        session->state = PG_SESSION_READY;
        finish(session, STORE_ANSWERED);
        return;
    }
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    struct error err = {0};
    bool is_question = session->question != PG_TRUST_NOTHING;
    if (!is_question && pg_prepared_was_lost(task, sqlstate)) {
        send_task(session);
        return;
    }
    if (!is_question && op.take_other_way != NULL && sqlstate != NULL &&
        op.take_other_way(task, sqlstate)) {
        task->step++;
        send_task(session);
        return;
    }
    const char *schema = session->trust.schema;
    enum store_failure failure =
        pg_failure_of_result(result, op.name, schema == NULL ? "" : schema, &err);
    session->state = PG_SESSION_READY;
    if (failure == FAILURE_READ_ONLY)
        leave_read_only(session);
    finish_failed(session, failure, &err);
}

static void read_question(struct pg_session *session, const PGresult *result)
{
    char *note;
    struct error err = {0};
    bool is_trusted = pg_trust_read(&session->trust, session->question, result, &note, &err);
    if (note != NULL)
        session->hooks.note(session->hooks.store, false, note);
    free(note);
    if (is_trusted) {
        send_task(session);
        return;
    }
    session->state = PG_SESSION_READY;
    finish_failed(session, FAILURE_SCHEMA, &err);
}

/* Whatever the answer is, the statement itself comes next. */
static void read_preparation(struct pg_session *session, const PGresult *result)
{
    pg_prepared_read(&session->task, result);
    send_task(session);
}

static void read_task(struct pg_session *session, const PGresult *result)
{
    struct pg_task *task = &session->task;
    struct error err = {0};
    bool is_quick =
        session->foreign == NULL && task->request->kind == STORE_CLAIM && pg_quick_fits_claim(task);
    switch (op_of(session).read(task, result, &err)) {
    case PG_NEXT_DONE:
        if (is_quick)
            pg_trust_confirm(&session->trust);
        session->state = PG_SESSION_READY;
        finish(session, STORE_ANSWERED);
        break;
    case PG_NEXT_STEP:
        task->step++;
        send_task(session);
        break;
    case PG_NEXT_FAILED:
        session->state = PG_SESSION_READY;
        finish_failed(session, err.kind == ERROR_CONFIG ? FAILURE_SCHEMA : FAILURE_OTHER, &err);
        break;
    }
}

static void doubt_task(struct pg_session *session)
{
    struct error err = {0};
    error_set(&err, ERROR_STORE,
              "%s is in doubt: the server stopped waiting for its synchronous standby",
              pg_ops[session->task.request->kind].name);
    session->state = PG_SESSION_READY;
    finish_failed(session, FAILURE_UNREACHABLE, &err);
}

static bool is_rows(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

/* ---- the greeting ------------------------------------------------------------------------ */

static void reject_server(struct pg_session *session, const struct error *why)
{
    drop_connection(session);
    pg_connect_skip(&session->connect);
    tell_outage(session, why);
}

static void send_greeting(struct pg_session *session)
{
    struct pg_statement statement = {0};
    struct error err = {0};
    pg_server_build_greeting(&session->server, &statement);
    session->state = PG_SESSION_GREETING;
    bool is_sent = pg_query_send(&session->query, &statement, &err);
    pg_statement_done(&statement);
    if (!is_sent)
        reject_server(session, &err);
}

static void become_ready(struct pg_session *session)
{
    alarm_stop(&session->greeting_limit);
    session->is_identifying = false;
    pg_connect_settle(&session->connect);
    session->state = PG_SESSION_READY;
    session->ready_since_boot_ms = now_boot_ms();
    session->last_fault.kind = ERROR_NONE;
    if (session->is_outage_told) {
        session->is_outage_told = false;
        session->hooks.restored(session->hooks.store);
    }
    if (session->task.request != NULL && session->state == PG_SESSION_READY)
        send_task(session);
}

static void read_greeting(struct pg_session *session, const PGresult *result)
{
    struct error err = {0};
    if (is_rows(result)) {
        if (pg_server_read_greeting(&session->server, result, &err))
            become_ready(session);
        else
            reject_server(session, &err);
        return;
    }
    enum store_failure failure = pg_failure_of_result(result, "the greeting", "", &err);
    if (failure == FAILURE_RIGHTS && !session->server.hides_identifier) {
        session->server.hides_identifier = true;
        send_greeting(session);
        return;
    }
    reject_server(session, &err);
}

static void on_greeting_limit(struct alarm *alarm)
{
    struct pg_session *session = LIST_OBJECT(alarm, struct pg_session, greeting_limit);
    struct error err = {0};
    error_set(&err, ERROR_STORE, "the database server took the connection but answers nothing");
    reject_server(session, &err);
}

/* ---- what the connection tells ----------------------------------------------------------- */

static void on_answered(void *owner, const PGresult *result, bool is_doubtful)
{
    struct pg_session *session = owner;
    struct error note = {0};
    if (is_rows(result) && pg_server_read_reply(&session->server, result, &note))
        session->hooks.note(session->hooks.store, false, note.text);
    if (session->state == PG_SESSION_GREETING)
        read_greeting(session, result);
    else if (session->state != PG_SESSION_BUSY)
        return;
    else if (session->prepared.question != PG_PREPARED_NOTHING)
        read_preparation(session, result);
    else if (!is_rows(result))
        refuse_task(session, result);
    else if (session->question != PG_TRUST_NOTHING)
        read_question(session, result);
    else if (is_doubtful && pg_ops[session->task.request->kind].writes)
        doubt_task(session);
    else
        read_task(session, result);
}

static void on_broken(void *owner, const struct error *why)
{
    struct pg_session *session = owner;
    struct error err = *why; /* it lives in what is dropped */
    enum pg_session_state before = session->state;
    if (before == PG_SESSION_GREETING && !session->is_identifying) {
        reject_server(session, &err);
        return;
    }
    drop_connection(session);
    reconnect(session);
    tell_outage(session, &err);
    if (before == PG_SESSION_BUSY)
        finish_failed(session, FAILURE_UNREACHABLE, &err);
}

static void on_notified(void *owner, const char *payload)
{
    struct pg_session *session = owner;
    session->hooks.released(session->hooks.store, payload);
}

static const struct pg_query_listener query_listener = {
    .answered = on_answered,
    .notified = on_notified,
    .broken = on_broken,
};

static void on_connected(void *owner, PGconn *conn)
{
    struct pg_session *session = owner;
    struct error err = {0};
    if (!pg_query_attach(&session->query, &session->sockets, conn, &query_listener, session)) {
        error_set(&err, ERROR_SYSTEM, "the database socket cannot be watched");
        reject_server(session, &err);
        return;
    }
    alarm_set_in(&session->greeting_limit, pg_connect_attempt_ms(&session->connect));
    send_greeting(session);
}

static void on_connect_failed(void *owner, const struct error *err, bool is_final)
{
    struct pg_session *session = owner;
    tell_outage(session, err);
    if (is_final && session->task.request != NULL)
        finish_failed(session, FAILURE_REFUSED, err);
}

static const struct pg_connect_listener connect_listener = {
    .connected = on_connected,
    .failed = on_connect_failed,
};

/* ---- what its owner asks ----------------------------------------------------------------- */

void pg_session_init(struct pg_session *session, uv_loop_t *loop)
{
    session->sockets.loop = loop;
    session->ready_since_boot_ms = INT64_MIN / 2;
    pg_server_init(&session->server);
    alarm_init(&session->greeting_limit, loop, on_greeting_limit);
    alarm_init(&session->identity, loop, on_identity);
    pg_connect_init(&session->connect, &session->sockets, &session->target, &connect_listener,
                    session);
    session->connect.application_name = session->application_name;
    pg_connect_start(&session->connect);
}

void pg_session_serve(struct pg_session *session, struct store_request *request)
{
    session->task = (struct pg_task){
        .request = request,
        .server = &session->server,
        .wait = &session->wait,
        .prepared = &session->prepared,
        .foreign = session->foreign,
    };
    if (request->kind == STORE_RENEW)
        pg_connect_bound(&session->connect, request->limit_ms);
    if (session->state == PG_SESSION_READY) {
        send_task(session);
        return;
    }
    request->error = session->last_fault;
    if (session->last_fault.kind == ERROR_NONE)
        pg_connect_describe(&session->connect, &request->error);
    if (session->state == PG_SESSION_DOWN)
        pg_connect_start(&session->connect);
}

void pg_session_forget(struct pg_session *session)
{
    bool is_under_way = session->state == PG_SESSION_BUSY || session->is_identifying;
    pg_ops_done(&session->task);
    if (!is_under_way)
        return;
    drop_connection(session);
    reconnect(session);
}

void pg_session_close(struct pg_session *session, struct handles *handles)
{
    drop_connection(session);
    pg_ops_done(&session->task);
    session->state = PG_SESSION_CLOSING;
    pg_connect_close(&session->connect, handles);
    alarm_close(&session->greeting_limit, handles);
    alarm_close(&session->identity, handles);
}
