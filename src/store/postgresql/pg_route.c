/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_route.h"

#include "store/postgresql/pg_row.h"

const char pg_route_sql[] = "SELECT !pg_backend_pid() AS backend_pid, #server";

enum pg_route pg_route_read(const PGresult *result, const PGconn *conn)
{
    bool is_same = pg_row_int64(result, 0, "backend_pid", 0) == PQbackendPID(conn);
    return is_same ? PG_ROUTE_DIRECT : PG_ROUTE_POOLED;
}
