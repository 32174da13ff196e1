/* SPDX-License-Identifier: ISC */
/* Whether a connection leads to the server itself. A transaction pooler gives what belongs to a
 * session to others, and tells clients a process id of its own making. */
#pragma once
#include <libpq-fe.h>

enum pg_route {
    PG_ROUTE_UNKNOWN,
    PG_ROUTE_DIRECT,
    PG_ROUTE_POOLED
};

extern const char pg_route_sql[]; /* to be expanded (pg_sql.h) */
enum pg_route pg_route_read(const PGresult *result, const PGconn *conn);
