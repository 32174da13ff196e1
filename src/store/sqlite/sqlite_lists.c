/* SPDX-License-Identifier: ISC */
/* What is there to be read: leases, runs, and the file itself. Reads take no lock that a writer
 * would wait for. */
#include "base/mem.h"
#include "store/inspection.h"
#include "store/sqlite/sqlite_liveness.h"
#include "store/sqlite/sqlite_ops.h"
#include "store/sqlite/sqlite_schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *column_string(sqlite3_stmt *statement, int column)
{
    return mem_strdup((const char *)sqlite3_column_text(statement, column));
}

static void *grow(void *rows, size_t count, size_t bytes)
{
    bool is_full = (count & (count - 1)) == 0; /* at 0, 1, 2, 4, 8 ... */
    return is_full ? mem_grow(rows, count == 0 ? 1 : count * 2, bytes) : rows;
}

/* ---- leases ------------------------------------------------------------------------------ */

static struct lease_row read_lease(struct sqlite_link *link, sqlite3_stmt *statement)
{
    struct sqlite_row row;
    sqlite_row_fill(statement, 1, &row);
    struct sqlite_now now = sqlite_now();
    struct sqlite_life life = sqlite_liveness(link->self, &row, now);
    int64_t hold_ms = sqlite_liveness_hold_ms(link->self, &row, now);
    struct lease_row lease = {
        .key = column_string(statement, 0),
        .holder = mem_strdup(row.holder),
        .is_revoked = row.is_revoked,
        .fence = row.fence,
        .acquired_us = row.acquired_us,
        .expires_us = row.expires_us,
        .slot_us = row.slot_us,
    };
    if (life.is_live) {
        lease.state = LEASE_HELD;
        lease.remaining_ms = life.left_ms;
    } else if (row.is_released && hold_ms > 0) {
        lease.state = LEASE_ON_HOLD;
        lease.remaining_ms = hold_ms;
    } else {
        lease.state = row.is_released ? LEASE_RELEASED : LEASE_EXPIRED;
    }
    return lease;
}

bool sqlite_status(struct sqlite_link *link, struct store_request *request)
{
    struct lease_list *list = &request->u.leases;
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_LEASES);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, list->key);
    enum sqlite_step step;
    while ((step = sqlite_link_step(link, statement)) == SQLITE_STEP_ROW) {
        list->rows = grow(list->rows, list->count, sizeof *list->rows);
        list->rows[list->count++] = read_lease(link, statement);
    }
    return step == SQLITE_STEP_DONE;
}

/* ---- runs -------------------------------------------------------------------------------- */

static enum run_outcome parse_outcome(const char *name)
{
    for (int i = OUTCOME_NONE + 1; name != NULL && i < OUTCOME_COUNT; i++)
        if (strcmp(name, run_outcome_name((enum run_outcome)i)) == 0)
            return (enum run_outcome)i;
    return OUTCOME_NONE;
}

static struct run_row read_run(sqlite3_stmt *statement)
{
    size_t length = (size_t)sqlite3_column_bytes(statement, 10);
    return (struct run_row){
        .run_id = column_string(statement, 0),
        .key = column_string(statement, 1),
        .job = column_string(statement, 2),
        .holder = column_string(statement, 3),
        .fence = sqlite3_column_int64(statement, 4),
        .slot_us = sqlite_link_read_instant(statement, 5),
        .started_us = sqlite_link_read_instant(statement, 6),
        .finished_us = sqlite_link_read_instant(statement, 7),
        .outcome = parse_outcome((const char *)sqlite3_column_text(statement, 8)),
        .status = sqlite3_column_int(statement, 9),
        .output_tail = mem_dup(sqlite3_column_blob(statement, 10), length),
        .output_tail_length = length,
    };
}

static bool read_oldest_slot(struct sqlite_link *link, struct run_list *list)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_OLDEST_SLOT);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, list->key);
    if (sqlite_link_step(link, statement) != SQLITE_STEP_ROW)
        return false;
    list->oldest_slot_us = sqlite_link_read_instant(statement, 0);
    sqlite3_reset(statement);
    return true;
}

bool sqlite_history(struct sqlite_link *link, struct store_request *request)
{
    struct run_list *list = &request->u.runs;
    if (list->is_of_slots && !read_oldest_slot(link, list))
        return false;
    sqlite3_stmt *statement = sqlite_link_statement(link, list->is_of_slots ? SQL_SLOTS : SQL_RUNS);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, list->key);
    sqlite3_bind_int64(statement, 2, list->limit > 0 ? list->limit : -1);
    if (list->is_of_slots)
        sqlite3_bind_int64(statement, 3, list->from_us);
    sqlite3_bind_int(statement, 4, list->wants_output_tail);
    enum sqlite_step step;
    while ((step = sqlite_link_step(link, statement)) == SQLITE_STEP_ROW) {
        list->rows = grow(list->rows, list->count, sizeof *list->rows);
        list->rows[list->count++] = read_run(statement);
    }
    return step == SQLITE_STEP_DONE;
}

/* ---- recall ------------------------------------------------------------------------------ */

static void read_recall(sqlite3_stmt *statement, struct recall_item *item)
{
    int64_t of_runs_us = sqlite_link_read_instant(statement, 0);
    int64_t of_lease_us = sqlite_link_read_instant(statement, 1);
    const unsigned char *fingerprint = sqlite3_column_text(statement, 2);
    bool has_run = of_runs_us != NO_INSTANT && of_runs_us >= of_lease_us;
    item->slot_us = has_run ? of_runs_us : of_lease_us;
    item->outcome =
        has_run ? parse_outcome((const char *)sqlite3_column_text(statement, 4)) : OUTCOME_COUNT;
    snprintf(item->fingerprint, sizeof item->fingerprint, "%s",
             fingerprint == NULL ? "" : (const char *)fingerprint);
    item->written_us = sqlite_link_read_instant(statement, 3);
}

static bool is_free(struct sqlite_link *link, const struct sqlite_row *row)
{
    struct sqlite_now now = sqlite_now();
    return row->exists && !sqlite_liveness(link->self, row, now).is_live &&
           sqlite_liveness_hold_ms(link->self, row, now) <= 0;
}

static bool find_interrupted(struct sqlite_link *link, struct recall_item *item)
{
    struct interrupted_run *run = &item->interrupted;
    struct sqlite_row row;
    if (!sqlite_row_read(link, item->key, &row))
        return false;
    if (!is_free(link, &row))
        return true;
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_INTERRUPTED);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, item->key);
    sqlite_link_text(statement, 2, item->job);
    sqlite3_bind_int(statement, 3, INTERRUPTED_SLOTS);
    enum sqlite_step step = sqlite_link_step(link, statement);
    if (step != SQLITE_STEP_ROW)
        return step == SQLITE_STEP_DONE;
    snprintf(run->run_id, sizeof run->run_id, "%s",
             (const char *)sqlite3_column_text(statement, 0));
    run->fence = sqlite3_column_int64(statement, 1);
    run->slot_us = sqlite_link_read_instant(statement, 2);
    run->starts = sqlite3_column_int64(statement, 3);
    sqlite3_reset(statement);
    return true;
}

bool sqlite_recall(struct sqlite_link *link, struct store_request *request)
{
    for (size_t i = 0; i < request->u.recall.count; i++) {
        struct recall_item *item = &request->u.recall.items[i];
        sqlite3_stmt *statement = sqlite_link_statement(link, SQL_RECALL);
        if (statement == NULL)
            return false;
        sqlite_link_text(statement, 1, item->key);
        sqlite_link_instant(statement, 2, item->before_us == 0 ? INT64_MAX : item->before_us);
        sqlite_link_text(statement, 3, item->job);
        if (sqlite_link_step(link, statement) != SQLITE_STEP_ROW)
            return false;
        read_recall(statement, item);
        sqlite3_reset(statement);
        item->interrupted = (struct interrupted_run){.slot_us = NO_INSTANT};
        if (item->wants_interrupted && !find_interrupted(link, item))
            return false;
    }
    return true;
}

/* ---- the file itself --------------------------------------------------------------------- */

/* "ok", or what is wrong first. */
static bool check_pages(struct sqlite_link *link, struct inspection *inspection)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(link->db, "PRAGMA quick_check(1)", -1, &statement, NULL);
    if (code != SQLITE_OK)
        return sqlite_link_fail(link, code);
    enum sqlite_step step = sqlite_link_step(link, statement);
    const char *found =
        step == SQLITE_STEP_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    if (found != NULL && strcmp(found, "ok") != 0) {
        struct error fault;
        error_set(&fault, ERROR_STORE, "%s is damaged: %s", link->file.path, found);
        inspection_add_fault(inspection, &fault);
    }
    sqlite3_finalize(statement);
    return step != SQLITE_STEP_FAILED;
}

static bool find_foreign(struct sqlite_link *link, struct inspection *inspection)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_LEASES);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, NULL);
    enum sqlite_step step;
    while ((step = sqlite_link_step(link, statement)) == SQLITE_STEP_ROW) {
        struct sqlite_row row;
        sqlite_row_fill(statement, 1, &row);
        if (!sqlite_liveness(link->self, &row, sqlite_now()).is_foreign)
            continue;
        struct error fault;
        error_set(&fault, ERROR_CONFIG,
                  "two hosts share %s: the lease of \"%s\" is held by %s on another clock",
                  link->file.path, (const char *)sqlite3_column_text(statement, 0), row.holder);
        inspection_add_fault(inspection, &fault);
    }
    return step == SQLITE_STEP_DONE;
}

bool sqlite_inspect(struct sqlite_link *link, struct store_request *request)
{
    struct inspection *inspection = &request->u.inspection;
    int64_t pages = 0, page_bytes = 0, version = 0;
    if (!check_pages(link, inspection) || !find_foreign(link, inspection) ||
        !sqlite_link_pragma(link, "PRAGMA page_count", &pages) ||
        !sqlite_link_pragma(link, "PRAGMA page_size", &page_bytes) ||
        !sqlite_link_pragma(link, "PRAGMA user_version", &version))
        return false;
    inspection->description = mem_printf("SQLite %s, %s, schema version %" PRId64,
                                         sqlite3_libversion(), link->file.path, version);
    inspection_add_note(inspection, mem_printf("for this host only; the file has %" PRId64 " KiB",
                                               pages * page_bytes / 1024));
    if (!link->self->can_see_processes)
        inspection_add_note(inspection,
                            mem_strdup("/proc shows another pid namespace: the lease of a dead "
                                       "holder ends only when it expires"));
    return true;
}
