/* SPDX-License-Identifier: ISC */
/* Deleting what has had its time, and what init has to do here: nothing but open. */
#include "store/sqlite/sqlite_liveness.h"
#include "store/sqlite/sqlite_ops.h"

#define RUNS_EACH 1000 /* deleted in one transaction, so that renewals need not wait long */

static bool purge_leases(struct sqlite_link *link, struct purge *purge)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_LEASES_PURGE);
    if (statement == NULL)
        return false;
    struct sqlite_now now = sqlite_now();
    sqlite3_bind_int64(statement, 1, now.wall_us - purge->lease_retention_ms * 1000);
    sqlite3_bind_int64(statement, 2, now.wall_us - purge->slot_retention_ms * 1000);
    sqlite_link_text(statement, 3, link->self->clock);
    sqlite3_bind_int64(statement, 4, now.boot_ms);
    sqlite3_bind_int64(statement, 5, now.wall_us);
    if (!sqlite_link_run(link, statement))
        return false;
    purge->leases_deleted = sqlite3_changes(link->db);
    return true;
}

static bool purge_runs(struct sqlite_link *link, struct purge *purge)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_RUNS_PURGE);
    if (statement == NULL)
        return false;
    int64_t now_us = sqlite_now().wall_us;
    int64_t before_us = now_us - purge->run_retention_ms * 1000;
    int64_t undone_before_us = now_us - purge->lease_retention_ms * 1000;
    int deleted;
    do {
        sqlite3_bind_int64(statement, 1, before_us);
        sqlite3_bind_int64(statement, 2, RUNS_EACH);
        sqlite3_bind_int64(statement, 3, undone_before_us);
        if (!sqlite_link_run(link, statement))
            return false;
        deleted = sqlite3_changes(link->db);
        purge->runs_deleted += deleted;
    } while (deleted == RUNS_EACH);
    return true;
}

bool sqlite_purge(struct sqlite_link *link, struct store_request *request)
{
    struct purge *purge = &request->u.purge;
    purge->leases_deleted = purge->runs_deleted = 0;
    return purge_leases(link, purge) && purge_runs(link, purge);
}

static bool run_on_key(struct sqlite_link *link, enum sqlite_sql which, const char *key,
                       int64_t *ret_changes)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, which);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, key);
    if (which == SQL_RUNS_CLOSE)
        sqlite3_bind_int64(statement, 2, sqlite_now().wall_us);
    if (!sqlite_link_run(link, statement))
        return false;
    *ret_changes = sqlite3_changes(link->db);
    return true;
}

bool sqlite_forget(struct sqlite_link *link, struct store_request *request)
{
    struct purge *purge = &request->u.purge;
    struct sqlite_row row;
    int64_t closed;
    purge->leases_deleted = purge->runs_deleted = 0;
    if (!sqlite_link_begin(link) || !sqlite_row_read(link, purge->forget_key, &row) ||
        !run_on_key(link, SQL_RUNS_FORGET, purge->forget_key, &purge->runs_deleted))
        return false;
    if (row.exists && !sqlite_liveness(link->self, &row, sqlite_now()).is_live &&
        (!run_on_key(link, SQL_LEASE_FORGET, purge->forget_key, &purge->leases_deleted) ||
         !run_on_key(link, SQL_RUNS_CLOSE, purge->forget_key, &closed)))
        return false;
    return sqlite_link_commit(link);
}

bool sqlite_init(struct sqlite_link *link, struct store_request *request)
{
    request->u.init.is_created = link->is_created;
    return true;
}
