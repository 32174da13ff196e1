/* SPDX-License-Identifier: ISC */
#include "cli/ask.h"

#include "base/backoff.h"
#include "base/fds.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/random.h"
#include "base/time_text.h"
#include "loop/alarm.h"
#include "loop/handles.h"

#include <stdlib.h>
#include <uv.h>

#define CONFLICT_MOST_MS 100
#define CLOSE_MOST_MS    1000

struct ask {
    uv_loop_t loop;
    struct store *store;
    struct store_request *request;
    struct ask_limits limits;
    int64_t begun_boot_ms;
    struct backoff backoff;
    struct alarm alarm; /* the next attempt; while closing: enough waited */
    struct handles handles;
    bool is_closed;
};

static struct ask *ask_of(struct alarm *alarm)
{
    return LIST_OBJECT(alarm, struct ask, alarm);
}

static void on_closed(void *owner)
{
    struct ask *ask = owner;
    ask->is_closed = true;
    alarm_close(&ask->alarm, &ask->handles);
}

/* A resolver that hangs holds the loop; the process leaves with _exit, so nothing is lost. */
static void on_close_overdue(struct alarm *alarm)
{
    uv_stop(&ask_of(alarm)->loop);
}

static void close_store(struct ask *ask)
{
    ask->alarm.ring = on_close_overdue;
    alarm_set_in(&ask->alarm, CLOSE_MOST_MS);
    store_close(ask->store, on_closed, ask);
}

/* A single attempt may outlast the total only where the caller wants it longer than that. */
static void submit(struct ask *ask)
{
    int64_t left_ms = ask->begun_boot_ms + ask->limits.total_ms - now_boot_ms();
    int64_t limit_ms = ask->limits.attempt_ms;
    if (limit_ms <= ask->limits.total_ms && limit_ms > left_ms)
        limit_ms = left_ms > 1 ? left_ms : 1;
    ask->request->limit_ms = limit_ms;
    store_submit(ask->store, ask->request);
}

static void on_again(struct alarm *alarm)
{
    submit(ask_of(alarm));
}

/* Below 0: there is no point in another attempt. */
static int64_t delay_ms(struct ask *ask)
{
    const struct store_request *request = ask->request;
    int64_t left_ms = ask->begun_boot_ms + ask->limits.total_ms - now_boot_ms();
    int64_t delay = 0;
    if (request->outcome != STORE_FAILED || store_failure_is_final(request->failure))
        return -1;
    if (request->failure == FAILURE_CONFLICT)
        delay = 1 + random_below(CONFLICT_MOST_MS);
    else
        delay = backoff_next_ms(&ask->backoff);
    return delay < left_ms ? delay : -1;
}

static void on_answered(struct store_request *request)
{
    struct ask *ask = request->owner;
    int64_t delay = delay_ms(ask);
    if (delay < 0)
        close_store(ask);
    else
        alarm_set_in(&ask->alarm, delay);
}

static enum error_kind kind_of(enum store_failure failure)
{
    switch (failure) {
    case FAILURE_SCHEMA:
    case FAILURE_RIGHTS:
        return ERROR_CONFIG;
    case FAILURE_NONE:
    case FAILURE_CONFLICT:
    case FAILURE_UNREACHABLE:
    case FAILURE_READ_ONLY:
    case FAILURE_REFUSED:
    case FAILURE_OTHER:
        return ERROR_STORE;
    }
    return ERROR_STORE;
}

/* What was given up after repeating says for how long. */
static bool explain(const struct ask *ask, struct error *err)
{
    const struct store_request *request = ask->request;
    char span[TIME_TEXT_MAX];
    if (request->outcome == STORE_ANSWERED)
        return true;
    *err = request->error;
    err->kind = kind_of(request->failure);
    if (!store_failure_is_final(request->failure) && request->outcome == STORE_FAILED)
        error_prefix(err, "given up after %s",
                     time_text_span(now_boot_ms() - ask->begun_boot_ms, span));
    return false;
}

bool ask_store(const struct store_config *store, struct store_request *request,
               struct ask_limits limits, struct error *err)
{
    static const struct store_listener deaf = {.owner = NULL};
    if (!fds_need_room(err))
        return false;
    struct ask *ask = mem_alloc(sizeof *ask);
    ask->request = request;
    ask->limits = limits;
    ask->begun_boot_ms = now_boot_ms();
    ask->backoff = (struct backoff){.first_ms = 100, .most_ms = 2000};
    request->done = on_answered;
    request->owner = ask;
    int rc = uv_loop_init(&ask->loop);
    if (rc != 0) {
        free(ask);
        return error_set(err, ERROR_SYSTEM, "the event loop cannot be set up: %s", uv_strerror(rc));
    }
    alarm_init(&ask->alarm, &ask->loop, on_again);
    bool is_good = store_open(&ask->loop, store, &deaf, &ask->store, err);
    if (is_good)
        submit(ask);
    else
        on_closed(ask);
    uv_run(&ask->loop, UV_RUN_DEFAULT);
    is_good = is_good && explain(ask, err);
    /* Threads of a loop that could not be closed may still write to it: it stays. */
    if (ask->is_closed && uv_loop_close(&ask->loop) == 0)
        free(ask);
    return is_good;
}
