/* SPDX-License-Identifier: ISC */
/* What a store URL means to libpq: its options, and the hosts it names. PG* variables and the
 * service file count as they do for libpq itself. Every attempt goes to one host and one address,
 * so that each can have a limit of its own: libpq's connect_timeout does nothing when connecting
 * asynchronously, and a silent first host would hide the second. */
#pragma once
#include "base/error.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pg_host {
    char *name;    /* NULL: libpq's default; a path: a unix socket */
    char *address; /* hostaddr, NULL: none given */
    char *port;    /* NULL: libpq's default */
};

struct pg_target {
    PQconninfoOption *options; /* as the URL gives them */
    struct pg_host *hosts;
    size_t host_count;
    int64_t attempt_ms; /* connect_timeout; 0: not set */
    bool has_application_name;
    bool has_keepalives; /* the user has set one of libpq's keepalive options: ours stay away */
    bool has_user_timeout;
};

/* Fails (ERROR_CONFIG) on what libpq cannot read; the sentence holds no password. */
bool pg_target_parse(const char *url, struct pg_target *ret_target, struct error *err);
void pg_target_done(struct pg_target *target);

/* True when the name has to be looked up first. */
bool pg_target_needs_lookup(const struct pg_host *host);

/* Begins a connection to one host; address (may be NULL) is given beside the name, which password
 * file and certificate are matched with. May return a connection that is BAD already. */
PGconn *pg_target_connect(const struct pg_target *target, const struct pg_host *host,
                          const char *address, const char *application_name);

/* True when libpq refuses the options themselves (a bad sslmode, a service that is not defined),
 * whatever the server. */
bool pg_target_is_faulty(const struct pg_target *target, struct error *err);
