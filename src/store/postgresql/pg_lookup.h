/* SPDX-License-Identifier: ISC */
/* A host name's addresses, looked up in libuv's threads: libpq would do it itself, blocking. A
 * lookup cannot be cancelled once a thread has it; one that is forgotten frees itself when it
 * comes back, however late. */
#pragma once
#include "base/error.h"

#include <stddef.h>
#include <uv.h>

struct pg_addresses {
    char **items; /* numeric, in getaddrinfo's order */
    size_t count;
};
void pg_addresses_done(struct pg_addresses *addresses);

struct pg_lookup;
/* err is NULL when there are addresses, which the callback takes over. */
typedef void (*pg_lookup_cb)(void *owner, struct pg_addresses *addresses, const struct error *err);

/* NULL, and err, when it cannot even begin. */
struct pg_lookup *pg_lookup_start(uv_loop_t *loop, const char *host, pg_lookup_cb done, void *owner,
                                  struct error *err);
void pg_lookup_forget(struct pg_lookup *lookup); /* done is not called any more; takes NULL */
