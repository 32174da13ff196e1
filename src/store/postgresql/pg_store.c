/* SPDX-License-Identifier: ISC */
/* The PostgreSQL module: what store.c sees of it. */
#include "base/list.h"
#include "base/mem.h"
#include "build_id.h"
#include "store/postgresql/pg_schema.h"
#include "store/postgresql/pg_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pg_store {
    struct pg_session session;
    struct handles handles;
};

static const char *schema_of(const struct store_config *config)
{
    bool is_named = config->schema != NULL && config->schema[0] != '\0';
    return is_named ? config->schema : STORE_SCHEMA_DEFAULT;
}

static bool open_store(uv_loop_t *loop, const struct store_config *config,
                       const struct store_backend_hooks *hooks, void **ret_state, struct error *err)
{
    struct pg_target target;
    struct pg_foreign *foreign;
    if (!pg_foreign_open(config, &foreign, err))
        return false;
    if (!pg_target_parse(config->url, &target, err)) {
        pg_foreign_close(foreign);
        return false;
    }
    struct pg_store *store = mem_alloc(sizeof *store);
    struct pg_session *session = &store->session;
    bool has_label = config->label != NULL;
    session->hooks = *hooks;
    session->target = target;
    session->foreign = foreign;
    snprintf(session->application_name, sizeof session->application_name, "leaserun%s%s",
             has_label ? ":" : "", has_label ? config->label : "");
    pg_trust_init(&session->trust, schema_of(config));
    pg_session_init(session, loop);
    *ret_state = store;
    return true;
}

static void serve(void *state, struct store_request *request)
{
    struct pg_store *store = state;
    pg_session_serve(&store->session, request);
}

static void forget(void *state)
{
    struct pg_store *store = state;
    pg_session_forget(&store->session);
}

static void free_store(struct pg_store *store)
{
    struct store_backend_hooks hooks = store->session.hooks;
    pg_target_done(&store->session.target);
    pg_trust_done(&store->session.trust);
    pg_foreign_close(store->session.foreign);
    free(store);
    hooks.closed(hooks.store);
}

static void on_handles_closed(struct handles *handles)
{
    struct pg_store *store = LIST_OBJECT(handles, struct pg_store, handles);
    if (store->session.sockets.open_count == 0)
        free_store(store);
}

static void on_sockets_closed(struct pg_sockets *sockets)
{
    struct pg_store *store = LIST_OBJECT(sockets, struct pg_store, session.sockets);
    if (store->handles.closing_count == 0)
        free_store(store);
}

static void close_store(void *state)
{
    struct pg_store *store = state;
    store->handles.closed = on_handles_closed;
    store->session.sockets.all_closed = on_sockets_closed;
    pg_session_close(&store->session, &store->handles);
}

static char *print_sql(const struct store_config *config, struct error *err)
{
    if (strcmp(schema_of(config), PG_TRUST_SEARCH_PATH) != 0)
        return pg_schema_print(schema_of(config));
    error_set(err, ERROR_USAGE,
              "which schema the search path leads to is the server's to say: name one (--schema)");
    return NULL;
}

__attribute__((visibility("default"))) const struct store_backend store_backend_v1 = {
    .build_id = BUILD_ID,
    .open = open_store,
    .serve = serve,
    .forget = forget,
    .close = close_store,
    .print_sql = print_sql,
};
