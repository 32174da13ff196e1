/* SPDX-License-Identifier: ISC */
#include "store/store.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/time_text.h"
#include "loop/alarm.h"
#include "store/store_backend.h"
#include "store/store_batch.h"
#include "store/store_module.h"

#include <stdlib.h>

struct store {
    const struct store_backend *backend;
    void *state; /* the backend's */
    struct store_listener listener;

    struct store_request *first; /* waiting, in order; what is being served is not among them */
    struct store_request *last;
    struct store_request *serving;  /* a caller's, or the batch's */
    struct store_batch *batch;      /* NULL: serving is a caller's */
    struct store_request *finished; /* to be called back from the loop, in order */
    struct alarm limit;             /* the earliest give_up of all, or earlier */
    int64_t limit_boot_ms;
    struct alarm turn; /* rings at once: work that may not happen within a submit */
    struct handles handles;
    bool is_closing;
    store_closed_cb closed;
    void *closed_owner;
};

/* ---- the queue --------------------------------------------------------------------------- */

static void find_last(struct store *store)
{
    store->last = store->first;
    while (store->last != NULL && store->last->next != NULL)
        store->last = store->last->next;
}

static void append(struct store *store, struct store_request *request)
{
    request->next = NULL;
    if (store->first == NULL)
        store->first = request;
    else
        store->last->next = request;
    store->last = request;
}

static void unqueue(struct store *store, struct store_request *request)
{
    struct store_request **at = &store->first;
    while (*at != request)
        at = &(*at)->next;
    *at = request->next;
    if (store->last == request)
        find_last(store);
}

/* In their order, before all that wait. */
static void put_back(struct store *store, struct store_request *list)
{
    struct store_request **end = &list;
    while (*end != NULL)
        end = &(*end)->next;
    *end = store->first;
    store->first = list;
    find_last(store);
}

static void take_turn(struct store *store)
{
    alarm_set_in(&store->turn, 0);
}

/* ---- limits ------------------------------------------------------------------------------ */

static void watch_limit(struct store *store, int64_t boot_ms)
{
    if (boot_ms >= store->limit_boot_ms)
        return;
    store->limit_boot_ms = boot_ms;
    alarm_set_at(&store->limit, boot_ms);
}

static void watch_limits(struct store *store)
{
    store->limit_boot_ms = INT64_MAX;
    alarm_stop(&store->limit);
    if (store->serving != NULL)
        watch_limit(store, store->serving->give_up_boot_ms);
    for (size_t m = 0; store->batch != NULL && m < store->batch->member_count; m++)
        if (store->batch->members[m] != NULL)
            watch_limit(store, store->batch->members[m]->give_up_boot_ms);
    for (struct store_request *r = store->first; r != NULL; r = r->next)
        watch_limit(store, r->give_up_boot_ms);
}

static void rest(struct store *store)
{
    if (store->serving == NULL && store->first == NULL)
        watch_limits(store);
}

/* ---- serving ----------------------------------------------------------------------------- */

static void serve_next(struct store *store)
{
    if (store->serving != NULL || store->first == NULL || store->is_closing)
        return;
    struct store_request *request = store->first;
    store->first = request->next;
    store->batch = store_batch_gather(request, &store->first, now_boot_ms());
    find_last(store);
    store->serving = store->batch != NULL ? &store->batch->request : request;
    store->serving->is_waited_for = store->batch != NULL || store->first != NULL;
    watch_limit(store, store->serving->give_up_boot_ms);
    store->backend->serve(store->state, store->serving);
}

/* Those who were served, with the answer if there is one. */
static struct store_request *end_service(struct store *store)
{
    struct store_request *list = store->serving;
    if (store->batch != NULL)
        list = store_batch_dissolve(store->batch);
    else if (list != NULL)
        list->next = NULL;
    store->serving = NULL;
    store->batch = NULL;
    if (store->first != NULL)
        take_turn(store);
    return list;
}

/* ---- calling back ------------------------------------------------------------------------ */

static void finish(struct store *store, struct store_request *list)
{
    struct store_request **end = &store->finished;
    while (*end != NULL)
        end = &(*end)->next;
    *end = list;
}

static void finish_one(struct store *store, struct store_request *request)
{
    request->next = NULL;
    finish(store, request);
}

static bool is_finished(const struct store *store, const struct store_request *request)
{
    const struct store_request *r = store->finished;
    while (r != NULL && r != request)
        r = r->next;
    return r != NULL;
}

/* A callback may submit, cancel and close. */
static void call_back(struct store *store)
{
    while (store->finished != NULL) {
        struct store_request *request = store->finished;
        store->finished = request->next;
        request->answered_boot_ms = now_boot_ms();
        request->done(request);
    }
}

static void on_turn(struct alarm *alarm)
{
    struct store *store = LIST_OBJECT(alarm, struct store, turn);
    call_back(store);
    serve_next(store);
}

/* What made the store refuse a batch may concern one member alone. */
static void serve_alone(struct store *store, struct store_request *members)
{
    for (struct store_request *r = members; r != NULL; r = r->next) {
        r->is_alone = true;
        r->sent_boot_ms = 0; /* nothing of it is in the store */
        r->failure = FAILURE_NONE;
    }
    put_back(store, members);
    take_turn(store);
}

static void on_answered(void *owner)
{
    struct store *store = owner;
    bool is_conflict = store->batch != NULL && store->serving->outcome == STORE_FAILED &&
                       store->serving->failure == FAILURE_CONFLICT;
    struct store_request *list = end_service(store);
    if (is_conflict)
        serve_alone(store, list);
    else
        finish(store, list);
    rest(store);
    call_back(store);
}

/* ---- giving up --------------------------------------------------------------------------- */

/* Back to the queue's head, as if it had never left it: it has not been sent. */
static void unserve(struct store *store)
{
    store->backend->forget(store->state);
    put_back(store, end_service(store));
    take_turn(store);
}

static void leave_batch(struct store *store, struct store_request *member)
{
    store_batch_leave(store->batch, member);
    if (!store_batch_is_empty(store->batch))
        return;
    store->backend->forget(store->state);
    end_service(store);
}

/* Takes it from wherever it is. */
static void detach(struct store *store, struct store_request *request)
{
    if (request->batch != NULL && request->batch->request.sent_boot_ms != 0) {
        leave_batch(store, request);
        return;
    }
    if (request->batch != NULL)
        unserve(store);
    if (request == store->serving) {
        store->backend->forget(store->state);
        end_service(store);
    } else {
        unqueue(store, request);
    }
}

/* What the store said last is more than that it said nothing since. */
static void fail_unanswered(struct store_request *request)
{
    char waited[TIME_TEXT_MAX];
    int64_t left_ms = request->give_up_boot_ms - now_boot_ms();
    if (request->error.text[0] == '\0')
        error_set(&request->error, ERROR_STORE, "the store gave no answer within %s",
                  time_text_span(request->limit_ms - (left_ms > 0 ? left_ms : 0), waited));
    request->outcome = STORE_FAILED;
    request->failure = FAILURE_UNREACHABLE;
}

static void give_up(struct store *store, struct store_request *request)
{
    detach(store, request);
    fail_unanswered(request);
    finish_one(store, request);
}

static void give_up_serving(struct store *store)
{
    store->backend->forget(store->state);
    struct store_request *list = end_service(store);
    for (struct store_request *r = list; r != NULL; r = r->next)
        fail_unanswered(r);
    finish(store, list);
}

static struct store_request *find_overdue(struct store *store, int64_t now)
{
    struct store_request *member =
        store->batch == NULL ? NULL : store_batch_find_overdue(store->batch, now);
    if (member != NULL)
        return member;
    for (struct store_request *r = store->first; r != NULL; r = r->next)
        if (r->give_up_boot_ms <= now)
            return r;
    return NULL;
}

static void on_limit(struct alarm *alarm)
{
    struct store *store = LIST_OBJECT(alarm, struct store, limit);
    int64_t now = now_boot_ms();
    if (store->serving != NULL && store->serving->give_up_boot_ms <= now)
        give_up_serving(store);
    for (struct store_request *r; (r = find_overdue(store, now)) != NULL;)
        give_up(store, r);
    watch_limits(store);
    call_back(store);
}

/* ---- what callers do --------------------------------------------------------------------- */

void store_submit(struct store *store, struct store_request *request)
{
    request->error = (struct error){.kind = ERROR_NONE};
    request->failure = FAILURE_NONE;
    request->outcome = STORE_FAILED;
    request->sent_boot_ms = 0;
    request->answered_boot_ms = 0;
    request->batch = NULL;
    request->is_alone = false;
    request->is_waited_for = false;
    request->give_up_boot_ms = now_boot_ms() + request->limit_ms;
    append(store, request);
    watch_limit(store, request->give_up_boot_ms);
    take_turn(store);
}

void store_cancel(struct store *store, struct store_request *request)
{
    bool is_sent =
        request->batch != NULL ? store->serving->sent_boot_ms != 0 : request->sent_boot_ms != 0;
    if (is_sent || is_finished(store, request))
        return;
    detach(store, request);
    request->outcome = STORE_CANCELLED;
    finish_one(store, request);
    rest(store);
    take_turn(store);
}

void store_hasten(struct store *store, struct store_request *request, int64_t ms)
{
    int64_t soon = now_boot_ms() + ms;
    if (soon >= request->give_up_boot_ms)
        return;
    request->give_up_boot_ms = soon;
    watch_limit(store, soon);
}

/* ---- open and close ---------------------------------------------------------------------- */

static void on_lost(void *owner, const struct error *why)
{
    struct store *store = owner;
    if (store->listener.lost != NULL)
        store->listener.lost(store->listener.owner, why);
}

static void on_restored(void *owner)
{
    struct store *store = owner;
    if (store->listener.restored != NULL)
        store->listener.restored(store->listener.owner);
}

static void on_note(void *owner, bool is_grave, const char *text)
{
    struct store *store = owner;
    if (store->listener.note != NULL)
        store->listener.note(store->listener.owner, is_grave, text);
}

static void on_released(void *owner, const char *key)
{
    struct store *store = owner;
    if (store->listener.released != NULL)
        store->listener.released(store->listener.owner, key);
}

static void free_store(struct handles *handles)
{
    struct store *store = LIST_OBJECT(handles, struct store, handles);
    store_closed_cb closed = store->closed;
    void *owner = store->closed_owner;
    free(store);
    if (closed != NULL)
        closed(owner);
}

static void close_alarms(void *owner)
{
    struct store *store = owner;
    store->handles.closed = free_store;
    alarm_close(&store->limit, &store->handles);
    alarm_close(&store->turn, &store->handles);
}

bool store_open(uv_loop_t *loop, const struct store_config *config,
                const struct store_listener *listener, struct store **ret_store, struct error *err)
{
    const struct store_backend *backend = store_module_load(config->url, err);
    if (backend == NULL)
        return false;
    struct store *store = mem_alloc(sizeof *store);
    store->backend = backend;
    store->limit_boot_ms = INT64_MAX;
    if (listener != NULL)
        store->listener = *listener;
    const struct store_backend_hooks hooks = {
        .store = store,
        .answered = on_answered,
        .lost = on_lost,
        .restored = on_restored,
        .note = on_note,
        .released = on_released,
        .closed = close_alarms,
    };
    if (!backend->open(loop, config, &hooks, &store->state, err)) {
        free(store);
        return false;
    }
    alarm_init(&store->limit, loop, on_limit);
    alarm_init(&store->turn, loop, on_turn);
    *ret_store = store;
    return true;
}

static void cancel_all(struct store *store)
{
    if (store->serving != NULL) {
        store->backend->forget(store->state);
        put_back(store, end_service(store));
    }
    for (struct store_request *r = store->first; r != NULL; r = r->next)
        r->outcome = STORE_CANCELLED;
    struct store_request *list = store->first;
    store->first = store->last = NULL;
    finish(store, list);
    call_back(store);
}

void store_close(struct store *store, store_closed_cb closed, void *owner)
{
    store->closed = closed;
    store->closed_owner = owner;
    store->is_closing = true;
    cancel_all(store);
    alarm_stop(&store->limit);
    alarm_stop(&store->turn);
    store->backend->close(store->state);
}

bool store_print_sql(const struct store_config *config, char **ret_sql, struct error *err)
{
    const struct store_backend *backend = store_module_load(config->url, err);
    if (backend == NULL)
        return false;
    *ret_sql = backend->print_sql(config, err);
    return *ret_sql != NULL;
}
