/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_server.h"

#include "base/now.h"
#include "store/postgresql/pg_row.h"
#include "store/postgresql/pg_sql.h"

#include <stdio.h>
#include <string.h>

void pg_server_init(struct pg_server *server)
{
    *server = (struct pg_server){.server_us = NO_INSTANT};
}

/* Everything before the first claim is waited for: the shortest question that tells the clock, in
 * binary form, which costs the server no formatting. Which cluster it is need not be known before
 * there is another to compare it with. */
void pg_server_build_greeting(const struct pg_server *server, struct pg_statement *ret_statement)
{
    static const char first[] = "SELECT !clock_timestamp() AS clock, CASE WHEN "
                                "!pg_is_in_recovery() THEN NULL ELSE "
                                "!pg_walfile_name(!pg_current_wal_lsn()) END AS walfile";
    static const char again[] = "SELECT #server, (SELECT c.system_identifier FROM "
                                "!pg_control_system() AS c) AS system_identifier";
    bool is_first = server->timeline[0] == '\0' || server->hides_identifier;
    *ret_statement = (struct pg_statement){.sql = pg_sql_expand(is_first ? first : again, ""),
                                           .is_binary = is_first};
}

#define EPOCH_2000_US INT64_C(946684800000000) /* the server counts from there */
#define CLOCK_MOST_US (INT64_MAX / 2)          /* sums with it fit */

/* False when no clock shows that. */
static bool take_clock(struct pg_server *server, int64_t since_us, int64_t clock_us)
{
    if (clock_us < -CLOCK_MOST_US || clock_us > CLOCK_MOST_US)
        return false;
    server->server_us = since_us + clock_us;
    server->received_boot_ms = now_boot_ms();
    return true;
}

static void read_first_greeting(struct pg_server *server, const PGresult *result)
{
    uint64_t value = 0;
    const unsigned char *clock = (const unsigned char *)PQgetvalue(result, 0, 0);
    if (PQgetlength(result, 0, 0) != 8)
        return;
    for (int i = 0; i < 8; i++)
        value = value << 8 | clock[i];
    take_clock(server, EPOCH_2000_US, (int64_t)value);
    if (PQgetisnull(result, 0, 1) == 0)
        snprintf(server->timeline, sizeof server->timeline, "%.8s", PQgetvalue(result, 0, 1));
}

bool pg_server_read_reply(struct pg_server *server, const PGresult *result, struct error *err)
{
    if (!take_clock(server, 0, pg_row_int64(result, 0, "server_us", NO_INSTANT)))
        return false;
    char before[sizeof server->timeline];
    memcpy(before, server->timeline, sizeof before);
    const char *timeline = pg_row_text(result, 0, "timeline");
    if (timeline[0] == '\0' || strcmp(before, timeline) == 0)
        return false;
    snprintf(server->timeline, sizeof server->timeline, "%.8s", timeline);
    if (before[0] == '\0')
        return false;
    error_set(err, ERROR_STORE,
              "the database has gone from timeline %s to %s: a standby was promoted, and what the "
              "old server had not yet sent to it is lost",
              before, server->timeline);
    return true;
}

bool pg_server_read_greeting(struct pg_server *server, const PGresult *result, struct error *err)
{
    if (PQntuples(result) == 1 && PQfformat(result, 0) == 1)
        read_first_greeting(server, result);
    const char *identifier = pg_row_text(result, 0, "system_identifier");
    if (identifier[0] == '\0')
        return true;
    if (server->system_identifier[0] != '\0' && strcmp(server->system_identifier, identifier) != 0)
        return error_set(err, ERROR_STORE,
                         "this server is another database cluster (system identifier %s) than the "
                         "one before (%s): its leases are not the same leases",
                         identifier, server->system_identifier);
    snprintf(server->system_identifier, sizeof server->system_identifier, "%.23s", identifier);
    return true;
}

int64_t pg_server_now_us(const struct pg_server *server, int64_t boot_ms)
{
    return server->server_us + (boot_ms - server->received_boot_ms) * 1000;
}
