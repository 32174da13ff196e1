/* SPDX-License-Identifier: ISC */
/* What is known of the server, kept across connections: its clock, which alone judges, and who it
 * is. A failover to a standby that had not everything shows as another timeline; a server that
 * never was the same cluster shows as another system identifier. */
#pragma once
#include "base/error.h"
#include "store/postgresql/pg_query.h"

#include <libpq-fe.h>
#include <stdint.h>

struct pg_server {
    int64_t server_us;        /* its clock in the latest reply; NO_INSTANT before the first */
    int64_t received_boot_ms; /* when that reply came */
    char timeline[9];         /* 8 hexadecimal digits, "" when unknown */
    char system_identifier[24];
    bool hides_identifier; /* we may not ask it for its identifier */
};

void pg_server_init(struct pg_server *server);

/* The first statement on every connection. It touches no table, so it works before init. */
void pg_server_build_greeting(const struct pg_server *server, struct pg_statement *ret_statement);

/* False, and err, when this is another cluster than the one before. */
bool pg_server_read_greeting(struct pg_server *server, const PGresult *result, struct error *err);

/* Takes clock and timeline from any reply (columns server_us, timeline). True when the timeline
 * has changed; err then says from what to what. */
bool pg_server_read_reply(struct pg_server *server, const PGresult *result, struct error *err);

/* The server's clock now, by the latest reply and the time since it came: never ahead of it. */
int64_t pg_server_now_us(const struct pg_server *server, int64_t boot_ms);
