/* SPDX-License-Identifier: ISC */
#include "run/run_store.h"

/* Before the lease is won a fault of the store is the claim's to tell. */
static void on_lost(void *owner, const struct error *why)
{
    struct run *run = owner;
    struct log_scope scope = LOG_SCOPE_NONE;
    if (!run_has_command(run) || run->is_store_lost)
        return;
    run->is_store_lost = true;
    scope.key = run->lease.key;
    scope.error = why;
    log_event(run->spec.log, EVENT_STORE_LOST, &scope, "the store is lost: %s", why->text);
}

static void on_restored(void *owner)
{
    struct run *run = owner;
    struct log_scope scope = LOG_SCOPE_NONE;
    if (!run->is_store_lost)
        return;
    run->is_store_lost = false;
    scope.key = run->lease.key;
    log_event(run->spec.log, EVENT_STORE_RESTORED, &scope, "the store is back");
    if (run_has_command(run))
        renew_now(&run->renew);
}

static void on_note(void *owner, bool is_grave, const char *text)
{
    struct run *run = owner;
    struct log_scope scope = LOG_SCOPE_NONE;
    scope.key = run->lease.key;
    log_event_at(run->spec.log, is_grave ? LEVEL_ERROR : LEVEL_WARN, EVENT_STORE_NOTE, &scope, "%s",
                 text);
}

static void on_released(void *owner, const char *key)
{
    struct run *run = owner;
    claim_hint(&run->claim, key);
}

bool run_store_open(struct run *run, struct store **ret_store, struct error *err)
{
    const struct store_listener listener = {
        .lost = on_lost,
        .restored = on_restored,
        .note = on_note,
        .released = on_released,
        .owner = run,
    };
    struct store_config config = *run->spec.store;
    config.label = run->lease.key;
    return store_open(run->loop, &config, &listener, ret_store, err);
}
