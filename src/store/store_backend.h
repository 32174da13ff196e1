/* SPDX-License-Identifier: ISC */
/* What a store module provides: one symbol, store_backend_v1, of this type. Written for the person
 * who writes the third one. store.c keeps the queue, the limits and the order; a backend serves
 * one request at a time and knows nothing of retries.
 *
 * Every function is called from the loop's thread and none may block it. */
#pragma once
#include "store/store.h"

struct store_backend_hooks;

struct store_backend {
    /* BUILD_ID of the tree it was built from: a module of another build is refused, since the
     * structs of store.h are shared by layout. */
    const char *build_id;

    /* Begins to connect and returns at once with its own state. Fails only on a URL it cannot
     * read. Whatever goes wrong later is told through the hooks. */
    bool (*open)(uv_loop_t *loop, const struct store_config *config,
                 const struct store_backend_hooks *hooks, void **ret_state, struct error *err);

    /* Serves a request: sends it when connected (connecting first, or waiting until it is), fills
     * the answer, and calls hooks->answered once. Sets request->sent_boot_ms just before the
     * first byte leaves. Never called while another is being served. */
    void (*serve)(void *state, struct store_request *request);

    /* The request being served has reached its limit or is cancelled: forget it, touch it never
     * again, call back nothing. If it was sent, the connection it is on is dropped. */
    void (*forget)(void *state);

    /* Drops everything, then calls hooks->closed. answered is not called any more. */
    void (*close)(void *state);

    /* The statements of init as text; the caller frees. NULL, and err, where there are none. */
    char *(*print_sql)(const struct store_config *config, struct error *err);
};

struct store_backend_hooks {
    void *store;
    /* outcome ANSWERED or FAILED is set in the request that was being served */
    void (*answered)(void *store);
    void (*lost)(void *store, const struct error *why);
    void (*restored)(void *store);
    void (*note)(void *store, bool is_grave, const char *text);
    void (*released)(void *store, const char *key);
    void (*closed)(void *store);
};

extern const struct store_backend store_backend_v1;
