/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_connect.h"

#include "base/list.h"
#include "base/mem.h"
#include "store/postgresql/pg_failure.h"

#include <inttypes.h>
#include <stdlib.h>

#define ATTEMPT_MS      2500  /* while there is another address to try */
#define LONE_ATTEMPT_MS 10000 /* while there is none */
#define BOUND_LEAST_MS  1000  /* a login over a slow line takes some round trips */
#define PAUSE_LEAST_MS  200
#define PAUSE_MOST_MS   1000 /* what failed is repeated within a second */

static struct pg_seat *seat(struct pg_connect *connect)
{
    return &connect->seats[connect->host_index];
}

static const struct pg_host *host(const struct pg_connect *connect)
{
    return &connect->target->hosts[connect->host_index];
}

static const char *address(const struct pg_connect *connect)
{
    const struct pg_addresses *known = &connect->seats[connect->host_index].addresses;
    return connect->address_index < known->count ? known->items[connect->address_index] : NULL;
}

int64_t pg_connect_attempt_ms(const struct pg_connect *connect)
{
    if (connect->target->attempt_ms > 0)
        return connect->target->attempt_ms;
    bool is_alone = connect->target->host_count == 1 &&
                    connect->seats[connect->host_index].addresses.count <= 1;
    int64_t whole = is_alone ? LONE_ATTEMPT_MS : ATTEMPT_MS;
    return connect->bound_ms > 0 && connect->bound_ms < whole ? connect->bound_ms : whole;
}

void pg_connect_bound(struct pg_connect *connect, int64_t ms)
{
    connect->bound_ms = ms < BOUND_LEAST_MS ? BOUND_LEAST_MS : ms;
}

/* ---- the order of attempts --------------------------------------------------------------- */

static void drop(struct pg_connect *connect)
{
    pg_socket_close(&connect->socket); /* before libpq closes the descriptor */
    PQfinish(connect->conn);
    connect->conn = NULL;
    alarm_stop(&connect->alarm);
    connect->state = PG_CONNECT_OFF;
}

/* To the next address or host. True when that begins a new round. */
static bool advance(struct pg_connect *connect)
{
    if (++connect->address_index < seat(connect)->addresses.count)
        return false;
    pg_addresses_done(&seat(connect)->addresses); /* looked up anew when its turn comes */
    connect->address_index = 0;
    connect->host_index = (connect->host_index + 1) % connect->target->host_count;
    return connect->host_index == 0;
}

static void pause_for(struct pg_connect *connect, int64_t ms)
{
    connect->state = PG_CONNECT_PAUSING;
    alarm_set_in(&connect->alarm, ms);
}

void pg_connect_skip(struct pg_connect *connect)
{
    drop(connect);
    bool is_round_over = advance(connect);
    pause_for(connect, is_round_over ? backoff_next_ms(&connect->backoff) : 0);
}

static void fail(struct pg_connect *connect, const struct error *err)
{
    bool is_final = err->kind == ERROR_CONFIG || pg_failure_is_refusal(err->sqlstate);
    pg_connect_skip(connect);
    if (is_final)
        drop(connect);
    connect->listener->failed(connect->owner, err, is_final);
}

static void fail_by_libpq(struct pg_connect *connect)
{
    struct error err = {0};
    pg_failure_of_connection(connect->conn, &err);
    /* Without an SQLSTATE it may be an option that no server ever saw. */
    if (err.kind != ERROR_CONFIG && err.sqlstate[0] == '\0' &&
        pg_target_is_faulty(connect->target, &err))
        err.kind = ERROR_CONFIG;
    fail(connect, &err);
}

static const char *shown_host(const struct pg_connect *connect)
{
    const struct pg_host *h = host(connect);
    return h->name != NULL ? h->name : h->address != NULL ? h->address : "(libpq's default)";
}

void pg_connect_describe(const struct pg_connect *connect, struct error *ret_sentence)
{
    error_set(ret_sentence, ERROR_STORE, "the database host \"%s\" has not answered yet",
              shown_host(connect));
}

static void fail_by_limit(struct pg_connect *connect)
{
    struct error err = {0};
    error_set(&err, ERROR_STORE, "the database host \"%s\" %s within %" PRId64 " ms",
              shown_host(connect),
              connect->state == PG_CONNECT_LOOKING_UP ? "could not be looked up" : "did not answer",
              pg_connect_attempt_ms(connect));
    fail(connect, &err);
}

/* ---- one attempt ------------------------------------------------------------------------- */

static void on_socket(void *owner);

static void wait_for_socket(struct pg_connect *connect, int events)
{
    connect->socket =
        pg_socket_open(connect->sockets, PQsocket(connect->conn), events, on_socket, connect);
    if (connect->socket == NULL)
        alarm_set_in(&connect->alarm, 0); /* the alarm finds it missing */
}

static void hand_over(struct pg_connect *connect)
{
    PGconn *conn = connect->conn;
    connect->conn = NULL;
    drop(connect);
    connect->listener->connected(connect->owner, conn);
}

static void on_socket(void *owner)
{
    struct pg_connect *connect = owner;
    pg_socket_close(&connect->socket); /* the next call may change the descriptor */
    switch (PQconnectPoll(connect->conn)) {
    case PGRES_POLLING_READING:
        wait_for_socket(connect, UV_READABLE);
        break;
    case PGRES_POLLING_WRITING:
        wait_for_socket(connect, UV_WRITABLE);
        break;
    case PGRES_POLLING_OK:
        hand_over(connect);
        break;
    case PGRES_POLLING_FAILED:
    case PGRES_POLLING_ACTIVE:
        fail_by_libpq(connect);
        break;
    }
}

static void connect_to_address(struct pg_connect *connect)
{
    connect->state = PG_CONNECT_POLLING;
    connect->conn = pg_target_connect(connect->target, host(connect), address(connect),
                                      connect->application_name);
    alarm_set_in(&connect->alarm, pg_connect_attempt_ms(connect));
    if (PQstatus(connect->conn) == CONNECTION_BAD)
        alarm_set_in(&connect->alarm, 0); /* told from the loop, never from within a call of ours */
    else
        wait_for_socket(connect, UV_WRITABLE);
}

static void on_looked_up(void *owner, struct pg_addresses *addresses, const struct error *err)
{
    struct pg_seat *found = owner;
    struct pg_connect *connect = found->connect;
    found->lookup = NULL;
    pg_addresses_done(&found->addresses);
    found->addresses = *addresses;
    if (connect->state != PG_CONNECT_LOOKING_UP || found != seat(connect))
        return; /* its turn was over; the addresses serve the next one */
    if (err != NULL)
        fail(connect, err);
    else
        connect_to_address(connect);
}

static void begin_attempt(struct pg_connect *connect)
{
    struct pg_seat *current = seat(connect);
    struct error err = {0};
    if (!pg_target_needs_lookup(host(connect)) || current->addresses.count > 0) {
        connect_to_address(connect);
        return;
    }
    connect->state = PG_CONNECT_LOOKING_UP;
    alarm_set_in(&connect->alarm, pg_connect_attempt_ms(connect));
    if (current->lookup == NULL)
        current->lookup = pg_lookup_start(connect->sockets->loop, host(connect)->name, on_looked_up,
                                          current, &err);
    if (current->lookup == NULL)
        alarm_set_in(&connect->alarm, 0);
}

/* The alarm rang at once, because no look-up could be started: why? */
static void start_lookup_again(struct pg_connect *connect)
{
    struct error err = {0};
    struct pg_seat *current = seat(connect);
    current->lookup =
        pg_lookup_start(connect->sockets->loop, host(connect)->name, on_looked_up, current, &err);
    if (current->lookup == NULL)
        fail(connect, &err);
    else
        alarm_set_in(&connect->alarm, pg_connect_attempt_ms(connect));
}

static void on_alarm(struct alarm *alarm)
{
    struct pg_connect *connect = LIST_OBJECT(alarm, struct pg_connect, alarm);
    switch (connect->state) {
    case PG_CONNECT_OFF:
        break;
    case PG_CONNECT_PAUSING:
        begin_attempt(connect);
        break;
    case PG_CONNECT_POLLING:
        if (PQstatus(connect->conn) == CONNECTION_BAD) {
            fail_by_libpq(connect);
            break;
        }
        fail_by_limit(connect);
        break;
    case PG_CONNECT_LOOKING_UP:
        if (seat(connect)->lookup == NULL)
            start_lookup_again(connect);
        else
            fail_by_limit(connect);
        break;
    }
}

/* ---- its life ---------------------------------------------------------------------------- */

void pg_connect_init(struct pg_connect *connect, struct pg_sockets *sockets,
                     const struct pg_target *target, const struct pg_connect_listener *listener,
                     void *owner)
{
    *connect = (struct pg_connect){
        .sockets = sockets,
        .target = target,
        .listener = listener,
        .owner = owner,
        .application_name = "leaserun",
        .seats = mem_array(target->host_count, sizeof connect->seats[0]),
        .backoff = {.first_ms = PAUSE_LEAST_MS * 2, .most_ms = PAUSE_MOST_MS},
    };
    for (size_t i = 0; i < target->host_count; i++)
        connect->seats[i].connect = connect;
    alarm_init(&connect->alarm, sockets->loop, on_alarm);
}

void pg_connect_start(struct pg_connect *connect)
{
    if (connect->state == PG_CONNECT_OFF)
        begin_attempt(connect);
}

void pg_connect_start_later(struct pg_connect *connect)
{
    if (connect->state == PG_CONNECT_OFF)
        pause_for(connect, backoff_next_ms(&connect->backoff));
}

void pg_connect_settle(struct pg_connect *connect)
{
    backoff_reset(&connect->backoff);
    pg_addresses_done(&seat(connect)->addresses); /* a name may have moved by the next time */
    connect->address_index = 0;
}

void pg_connect_close(struct pg_connect *connect, struct handles *handles)
{
    drop(connect);
    for (size_t i = 0; i < connect->target->host_count; i++) {
        pg_lookup_forget(connect->seats[i].lookup);
        pg_addresses_done(&connect->seats[i].addresses);
    }
    free(connect->seats);
    connect->seats = NULL;
    alarm_close(&connect->alarm, handles);
}
