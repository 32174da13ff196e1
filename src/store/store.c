/* SPDX-License-Identifier: ISC */
#include "store/store.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/program.h"
#include "base/time_text.h"
#include "build_id.h"
#include "loop/alarm.h"
#include "store/stand_in.h"
#include "store/store_backend.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct store {
    const struct store_backend *backend;
    void *module; /* of dlopen */
    void *state;  /* the backend's */
    struct store_listener listener;

    struct store_request *first; /* waiting, in order; the one being served is not among them */
    struct store_request *serving;
    struct store_request *finished; /* cancelled, to be called back from the loop */
    struct alarm limit;             /* the earliest give_up of all */
    struct alarm turn;              /* rings at once: work that may not happen within a submit */
    struct handles handles;
    bool is_closing;
    store_closed_cb closed;
    void *closed_owner;
};

/* ---- the module -------------------------------------------------------------------------- */

struct scheme {
    const char *prefix;
    const char *module;
    const char *needs;
    bool has_stand_ins;
};

static const struct scheme schemes[] = {
    {.prefix = "postgresql:",
     .module = "leaserun-postgresql.so",
     .needs = "libpq",
     .has_stand_ins = true},
    {.prefix = "postgres:",
     .module = "leaserun-postgresql.so",
     .needs = "libpq",
     .has_stand_ins = true},
    {.prefix = "sqlite:", .module = "leaserun-sqlite.so", .needs = "libsqlite3"},
};

static const struct scheme *find_scheme(const char *url)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strncmp(url, schemes[i].prefix, strlen(schemes[i].prefix)) == 0)
            return &schemes[i];
    /* libpq's other form: "host=... dbname=..." */
    return strchr(url, '=') != NULL ? &schemes[0] : NULL;
}

bool store_check_url(const char *url, struct error *err)
{
    return find_scheme(url) != NULL ||
           error_set(err, ERROR_CONFIG,
                     "the store's URL must start with postgresql: or sqlite: (or be a libpq "
                     "connection string)");
}

static void *open_module(const struct scheme *scheme, const char *folder, const char *url,
                         const char *path)
{
    struct stand_ins stand_ins = {0};
    if (scheme->has_stand_ins)
        stand_in_load(folder, url, &stand_ins);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* a missing symbol shows here or never */
    if (module == NULL && stand_in_unload(&stand_ins))
        module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return module;
}

static const struct store_backend *load(const char *url, void **ret_module, struct error *err)
{
    char path[PATH_MAX];
    char folder[PATH_MAX];
    const struct scheme *scheme = find_scheme(url);
    if (!store_check_url(url, err))
        return NULL;
    if (!program_folder(folder, sizeof folder, err))
        return NULL;
    snprintf(path, sizeof path, "%.4000s/%s", folder, scheme->module);
    void *module = open_module(scheme, folder, url, path);
    if (module == NULL) {
        error_set(err, ERROR_CONFIG, "the store module cannot be loaded (is %s installed?): %s",
                  scheme->needs, dlerror());
        return NULL;
    }
    const struct store_backend *backend = dlsym(module, "store_backend_v1");
    if (backend == NULL || strcmp(backend->build_id, BUILD_ID) != 0) {
        error_set(err, ERROR_CONFIG, "%s is of another build than leaserun (%s): reinstall both",
                  path, BUILD_ID);
        dlclose(module);
        return NULL;
    }
    *ret_module = module;
    return backend;
}

/* ---- the queue --------------------------------------------------------------------------- */

static void arm_limit(struct store *store)
{
    int64_t earliest = INT64_MAX;
    if (store->serving != NULL)
        earliest = store->serving->give_up_boot_ms;
    for (struct store_request *r = store->first; r != NULL; r = r->next)
        if (r->give_up_boot_ms < earliest)
            earliest = r->give_up_boot_ms;
    if (earliest == INT64_MAX)
        alarm_stop(&store->limit);
    else
        alarm_set_at(&store->limit, earliest);
}

static void unqueue(struct store *store, struct store_request *request)
{
    for (struct store_request **at = &store->first; *at != NULL; at = &(*at)->next) {
        if (*at == request) {
            *at = request->next;
            return;
        }
    }
}

static void serve_next(struct store *store)
{
    if (store->serving != NULL || store->first == NULL || store->is_closing)
        return;
    struct store_request *request = store->first;
    store->first = request->next;
    store->serving = request;
    arm_limit(store);
    store->backend->serve(store->state, request);
}

static void call_back(struct store *store, struct store_request *request)
{
    request->answered_boot_ms = now_boot_ms();
    request->done(request);
}

static void on_turn(struct alarm *alarm)
{
    struct store *store = LIST_OBJECT(alarm, struct store, turn);
    while (store->finished != NULL) {
        struct store_request *request = store->finished;
        store->finished = request->next;
        call_back(store, request);
    }
    serve_next(store);
}

static void on_answered(void *owner)
{
    struct store *store = owner;
    struct store_request *request = store->serving;
    store->serving = NULL;
    arm_limit(store);
    if (store->first != NULL)
        alarm_set_in(&store->turn, 0);
    call_back(store, request);
}

/* What the store said last is more than that it said nothing since. */
static void fail_unanswered(struct store_request *request)
{
    char waited[TIME_TEXT_MAX];
    if (request->error.text[0] == '\0')
        error_set(&request->error, ERROR_STORE, "the store gave no answer within %s",
                  time_text_span(request->limit_ms, waited));
    request->outcome = STORE_FAILED;
    request->failure = FAILURE_UNREACHABLE;
}

static void give_up(struct store *store, struct store_request *request)
{
    if (request == store->serving) {
        store->backend->forget(store->state);
        store->serving = NULL;
    } else {
        unqueue(store, request);
    }
    fail_unanswered(request);
    if (store->first != NULL)
        alarm_set_in(&store->turn, 0);
    call_back(store, request);
}

static struct store_request *find_overdue(struct store *store)
{
    int64_t now = now_boot_ms();
    if (store->serving != NULL && store->serving->give_up_boot_ms <= now)
        return store->serving;
    for (struct store_request *r = store->first; r != NULL; r = r->next)
        if (r->give_up_boot_ms <= now)
            return r;
    return NULL;
}

static void on_limit(struct alarm *alarm)
{
    struct store *store = LIST_OBJECT(alarm, struct store, limit);
    for (struct store_request *r; (r = find_overdue(store)) != NULL;)
        give_up(store, r);
    arm_limit(store);
}

void store_submit(struct store *store, struct store_request *request)
{
    request->next = NULL;
    request->error = (struct error){.kind = ERROR_NONE};
    request->failure = FAILURE_NONE;
    request->outcome = STORE_FAILED;
    request->sent_boot_ms = 0;
    request->answered_boot_ms = 0;
    request->give_up_boot_ms = now_boot_ms() + request->limit_ms;
    struct store_request **last = &store->first;
    while (*last != NULL)
        last = &(*last)->next;
    *last = request;
    arm_limit(store);
    alarm_set_in(&store->turn, 0);
}

void store_cancel(struct store *store, struct store_request *request)
{
    if (request->sent_boot_ms != 0)
        return;
    if (request == store->serving) {
        store->backend->forget(store->state);
        store->serving = NULL;
    } else {
        unqueue(store, request);
    }
    request->outcome = STORE_CANCELLED;
    request->next = store->finished;
    store->finished = request;
    alarm_set_in(&store->turn, 0);
}

void store_hasten(struct store *store, struct store_request *request, int64_t ms)
{
    int64_t soon = now_boot_ms() + ms;
    if (soon >= request->give_up_boot_ms)
        return;
    request->give_up_boot_ms = soon;
    arm_limit(store);
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

static void free_store(struct handles *handles)
{
    struct store *store = LIST_OBJECT(handles, struct store, handles);
    store_closed_cb closed = store->closed;
    void *owner = store->closed_owner;
    /* The module stays loaded: a thread of its resolver or pool may still be inside it. */
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
    void *module;
    const struct store_backend *backend = load(config->url, &module, err);
    if (backend == NULL)
        return false;
    struct store *store = mem_alloc(sizeof *store);
    store->backend = backend;
    store->module = module;
    if (listener != NULL)
        store->listener = *listener;
    const struct store_backend_hooks hooks = {
        .store = store,
        .answered = on_answered,
        .lost = on_lost,
        .restored = on_restored,
        .note = on_note,
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
        store->serving->next = store->first;
        store->first = store->serving;
        store->serving = NULL;
    }
    while (store->first != NULL) {
        struct store_request *request = store->first;
        store->first = request->next;
        request->outcome = STORE_CANCELLED;
        call_back(store, request);
    }
    while (store->finished != NULL) {
        struct store_request *request = store->finished;
        store->finished = request->next;
        call_back(store, request);
    }
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
    void *module;
    const struct store_backend *backend = load(config->url, &module, err);
    if (backend == NULL)
        return false;
    *ret_sql = backend->print_sql(config);
    if (*ret_sql == NULL)
        return error_set(err, ERROR_USAGE,
                         "this store needs no SQL from a person: it is created on first use");
    return true;
}
