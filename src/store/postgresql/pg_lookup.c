/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_lookup.h"

#include "base/mem.h"
#include "loop/pool.h"

#include <netdb.h>
#include <stdlib.h>

#define THREAD_COUNT 4 /* so many hosts' look-ups may hang and another still be answered */

struct pg_lookup {
    uv_getaddrinfo_t request;
    pg_lookup_cb done; /* NULL: forgotten */
    void *owner;
    char *host;
};

void pg_addresses_done(struct pg_addresses *addresses)
{
    for (size_t i = 0; i < addresses->count; i++)
        free(addresses->items[i]);
    free(addresses->items);
    *addresses = (struct pg_addresses){0};
}

static void collect(const struct addrinfo *found, struct pg_addresses *ret_addresses)
{
    *ret_addresses = (struct pg_addresses){0};
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next) {
        char numeric[NI_MAXHOST];
        if (getnameinfo(a->ai_addr, a->ai_addrlen, numeric, sizeof numeric, NULL, 0,
                        NI_NUMERICHOST) != 0)
            continue;
        ret_addresses->items = mem_grow(ret_addresses->items, ret_addresses->count + 1,
                                        sizeof ret_addresses->items[0]);
        ret_addresses->items[ret_addresses->count++] = mem_strdup(numeric);
    }
}

static void free_lookup(struct pg_lookup *lookup)
{
    free(lookup->host);
    free(lookup);
}

static void on_found(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct pg_lookup *lookup = request->data;
    struct pg_addresses addresses = {0};
    struct error err = {0};
    if (status == 0)
        collect(found, &addresses);
    uv_freeaddrinfo(found);
    if (addresses.count == 0)
        error_set(&err, ERROR_STORE, "the database host \"%s\" has no address: %s", lookup->host,
                  status == 0 ? "the name server knows none" : uv_strerror(status));
    if (lookup->done != NULL)
        lookup->done(lookup->owner, &addresses, addresses.count == 0 ? &err : NULL);
    else
        pg_addresses_done(&addresses);
    free_lookup(lookup);
}

struct pg_lookup *pg_lookup_start(uv_loop_t *loop, const char *host, pg_lookup_cb done, void *owner,
                                  struct error *err)
{
    static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    if (!pool_prepare(THREAD_COUNT, err))
        return NULL;
    struct pg_lookup *lookup = mem_alloc(sizeof *lookup);
    lookup->done = done;
    lookup->owner = owner;
    lookup->host = mem_strdup(host);
    lookup->request.data = lookup;
    int rc = uv_getaddrinfo(loop, &lookup->request, on_found, host, NULL, &hints);
    if (rc == 0)
        return lookup;
    error_set(err, ERROR_STORE, "the database host \"%s\" cannot be looked up: %s", host,
              uv_strerror(rc));
    free_lookup(lookup);
    return NULL;
}

void pg_lookup_forget(struct pg_lookup *lookup)
{
    if (lookup == NULL)
        return;
    lookup->done = NULL;
    uv_cancel((uv_req_t *)&lookup->request); /* works while no thread has taken it up */
}
