/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "base/now.h"
#include "store/postgresql/pg_foreign_ops.h"
#include "store/postgresql/pg_row.h"

#include <stdlib.h>
#include <string.h>

/* The other table alone says what is held; our own tables add fence and slot to mandates that are
 * theirs. Of a foreign program's row that has ended nobody can tell how: it counts as released. */
static const char status_sql[] =
    "WITH t AS MATERIALIZED (SELECT !clock_timestamp() AS now, #server) "
    "SELECT t.server_us, t.timeline, f.%key AS key, COALESCE(%own_holder, f.%holder) AS holder, "
    "CASE WHEN %bounded {>} t.now AND f.%holder::!text {~} %released_form THEN 'on_hold' "
    "WHEN %bounded {>} t.now THEN 'held' "
    "WHEN f.%holder::!text {~} %live_form OR f.%holder::!text {~} %revoked_form THEN 'expired' "
    "ELSE 'released' END AS state, (f.%holder::!text {~} %revoked_form) AS is_revoked, "
    "%own_fence AS fence, #us(%own_slot) AS slot_us, #us(COALESCE(%own_acquired, %began)) AS "
    "acquired_us, "
    "#us(%bounded) AS expires_us, #ms(%bounded {-} t.now) AS remaining_ms "
    "FROM t LEFT JOIN %table AS f ON ($1::!text IS NULL OR f.%key {=} $1)%own_join "
    "ORDER BY f.%key";

void pg_foreign_status_build(struct pg_task *task, struct pg_statement *statement)
{
    statement->sql = pg_sql_expand_names(status_sql, task->schema, task->foreign->names);
    pg_statement_add(statement, mem_strdup(task->request->u.leases.key));
}

static enum lease_state read_state(const char *name)
{
    for (int state = 0; state <= LEASE_ON_HOLD; state++)
        if (strcmp(lease_state_name((enum lease_state)state), name) == 0)
            return (enum lease_state)state;
    return LEASE_RELEASED;
}

static void read_lease(struct lease_row *lease, const PGresult *result, int row)
{
    lease->key = pg_row_copy(result, row, "key");
    lease->holder = mem_strdup(pg_row_text(result, row, "holder"));
    pg_foreign_show_holder(lease->holder);
    lease->state = read_state(pg_row_text(result, row, "state"));
    lease->is_revoked = pg_row_bool(result, row, "is_revoked");
    lease->fence = pg_row_int64(result, row, "fence", FENCE_ABSENT);
    lease->acquired_us = pg_row_int64(result, row, "acquired_us", NO_INSTANT);
    lease->expires_us = pg_row_int64(result, row, "expires_us", NO_INSTANT);
    int64_t ms = pg_row_int64(result, row, "remaining_ms", 0);
    lease->remaining_ms = ms > 0 ? ms : 0;
    lease->slot_us = pg_row_int64(result, row, "slot_us", NO_INSTANT);
}

enum pg_next pg_foreign_status_read(struct pg_task *task, const PGresult *result, struct error *err)
{
    struct lease_list *list = &task->request->u.leases;
    int rows = PQntuples(result);
    list->count = rows == 1 && pg_row_text(result, 0, "key")[0] == '\0' ? 0 : (size_t)rows;
    list->rows = mem_array(list->count, sizeof list->rows[0]);
    for (size_t i = 0; i < list->count; i++)
        read_lease(&list->rows[i], result, (int)i);
    return PG_NEXT_DONE;
}
