/* SPDX-License-Identifier: ISC */
/* Keeps a lease: renews in time, repeats what failed, and tells when it is lost. Only a verdict of
 * the store makes it lost; a missing answer only lets the deadline come nearer, and whoever owns
 * the lease watches that (lease_term_boot_ms). */
#pragma once
#include "base/backoff.h"
#include "lease/lease.h"
#include "loop/alarm.h"

#include <stdbool.h>

struct renew_listener {
    void (*renewed)(void *owner); /* the lease's deadline has moved */
    /* The first failed attempt of an outage, and once more with half of the time gone. */
    void (*failed)(void *owner, const struct error *why, int64_t left_ms);
    void (*lost)(void *owner, enum lost_reason reason, const char *other);
    /* After each attempt, whatever became of it: no request is out now. */
    void (*settled)(void *owner);
    void (*quiet)(void *owner); /* after renew_stop: what was out then has come back. May be NULL */
};

struct renew {
    struct lease *lease;
    struct store *store;
    const struct renew_listener *listener;
    void *owner;
    struct renew_item item;
    struct store_request request;
    struct alarm alarm;
    struct backoff backoff;
    struct error error; /* the last fault of this outage; kind is ERROR_NONE when there is none */
    int told_count;     /* of this outage */
    bool is_asking;
    bool is_stopped;
};

void renew_start(struct renew *renew, uv_loop_t *loop, struct store *store, struct lease *lease,
                 const struct renew_listener *listener, void *owner);

/* Asks at once, for the moment after a stop of this process. */
void renew_now(struct renew *renew);

/* No further renewal leaves and nothing is told any more. One in flight is cancelled when it has
 * not left; one that has left cannot revive a released lease, and is given up after RENEW_STOP_MS,
 * so that the release behind it has its time. */
#define RENEW_STOP_MS 1000
void renew_stop(struct renew *renew);

/* True while the store may still call back. */
bool renew_is_asking(const struct renew *renew);

void renew_close(struct renew *renew, struct handles *handles);
