/* SPDX-License-Identifier: ISC */
#include "scripted_backend.h"

#include "build_id.h"
#include "check.h"
#include "store/store_module.h"

struct scripted_backend scripted_backend;

static bool open_backend(uv_loop_t *loop, const struct store_config *config,
                         const struct store_backend_hooks *hooks, void **ret_state,
                         struct error *err)
{
    scripted_backend = (struct scripted_backend){.hooks = *hooks, .is_connected = true};
    *ret_state = &scripted_backend;
    return true;
}

static void serve(void *state, struct store_request *request)
{
    assert_null(scripted_backend.serving);
    scripted_backend.serving = request;
    scripted_backend.serve_count++;
    if (scripted_backend.is_connected)
        request->sent_boot_ms = now_boot_ms();
}

static void forget(void *state)
{
    assert_non_null(scripted_backend.serving);
    scripted_backend.serving = NULL;
    scripted_backend.forget_count++;
}

static void close_backend(void *state)
{
    scripted_backend.hooks.closed(scripted_backend.hooks.store);
}

static char *print_nothing(const struct store_config *config, struct error *err)
{
    return NULL;
}

/* In the place of store_module.c's. */
const struct store_backend *store_module_load(const char *url, struct error *err)
{
    static const struct store_backend scripted = {.build_id = BUILD_ID,
                                                  .open = open_backend,
                                                  .serve = serve,
                                                  .forget = forget,
                                                  .close = close_backend,
                                                  .print_sql = print_nothing};
    return &scripted;
}
