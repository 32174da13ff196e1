/* SPDX-License-Identifier: ISC */
#include "store/sqlite/sqlite_row.h"

#include <stdio.h>

static void copy_text(sqlite3_stmt *statement, int column, char *ret_text, size_t room)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    snprintf(ret_text, room, "%s", text == NULL ? "" : (const char *)text);
}

void sqlite_row_fill(sqlite3_stmt *statement, int first_column, struct sqlite_row *ret_row)
{
    int at = first_column;
    *ret_row = (struct sqlite_row){.exists = true};
    copy_text(statement, at++, ret_row->holder, sizeof ret_row->holder);
    copy_text(statement, at++, ret_row->run_id, sizeof ret_row->run_id);
    copy_text(statement, at++, ret_row->previous_run_id, sizeof ret_row->previous_run_id);
    ret_row->fence = sqlite3_column_int64(statement, at++);
    ret_row->attempt = sqlite3_column_int64(statement, at++);
    ret_row->slot_us = sqlite_link_read_instant(statement, at++);
    ret_row->is_released = sqlite3_column_int(statement, at++) != 0;
    ret_row->is_revoked = sqlite3_column_int(statement, at++) != 0;
    ret_row->ttl_ms = sqlite3_column_int64(statement, at++);
    copy_text(statement, at++, ret_row->clock, sizeof ret_row->clock);
    ret_row->expires_boot_ms = sqlite3_column_int64(statement, at++);
    ret_row->hold_boot_ms = sqlite3_column_int64(statement, at++);
    ret_row->acquired_us = sqlite3_column_int64(statement, at++);
    ret_row->expires_us = sqlite3_column_int64(statement, at++);
    ret_row->hold_until_us = sqlite_link_read_instant(statement, at++);
    ret_row->written_us = sqlite3_column_int64(statement, at++);
    ret_row->pid_namespace = (uint64_t)sqlite3_column_int64(statement, at++);
    ret_row->pid = sqlite3_column_int64(statement, at++);
    ret_row->start_ticks = sqlite3_column_int64(statement, at++);
    ret_row->guard_pid = sqlite3_column_int64(statement, at++);
    ret_row->guard_start_ticks = sqlite3_column_int64(statement, at++);
    copy_text(statement, at++, ret_row->seen_clock, sizeof ret_row->seen_clock);
    ret_row->seen_boot_ms = sqlite3_column_int64(statement, at++);
    copy_text(statement, at++, ret_row->fingerprint, sizeof ret_row->fingerprint);
}

bool sqlite_row_read(struct sqlite_link *link, const char *key, struct sqlite_row *ret_row)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_LEASE);
    if (statement == NULL)
        return false;
    sqlite_link_text(statement, 1, key);
    switch (sqlite_link_step(link, statement)) {
    case SQLITE_STEP_FAILED:
        return false;
    case SQLITE_STEP_DONE:
        *ret_row = (struct sqlite_row){.slot_us = NO_INSTANT, .hold_until_us = NO_INSTANT};
        return true;
    case SQLITE_STEP_ROW:
        break;
    }
    sqlite_row_fill(statement, 0, ret_row);
    sqlite3_reset(statement);
    return true;
}

bool sqlite_row_write(struct sqlite_link *link, const char *key, const struct sqlite_row *row)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_LEASE_WRITE);
    if (statement == NULL)
        return false;
    int at = 1;
    sqlite_link_text(statement, at++, key);
    sqlite_link_text(statement, at++, row->holder);
    sqlite_link_text(statement, at++, row->run_id);
    sqlite_link_text(statement, at++, row->previous_run_id);
    sqlite3_bind_int64(statement, at++, row->fence);
    sqlite3_bind_int64(statement, at++, row->attempt);
    sqlite_link_instant(statement, at++, row->slot_us);
    sqlite3_bind_int(statement, at++, row->is_released);
    sqlite3_bind_int(statement, at++, row->is_revoked);
    sqlite3_bind_int64(statement, at++, row->ttl_ms);
    sqlite_link_text(statement, at++, row->clock);
    sqlite3_bind_int64(statement, at++, row->expires_boot_ms);
    sqlite3_bind_int64(statement, at++, row->hold_boot_ms);
    sqlite3_bind_int64(statement, at++, row->acquired_us);
    sqlite3_bind_int64(statement, at++, row->expires_us);
    sqlite_link_instant(statement, at++, row->hold_until_us);
    sqlite3_bind_int64(statement, at++, row->written_us);
    sqlite3_bind_int64(statement, at++, (int64_t)row->pid_namespace);
    sqlite3_bind_int64(statement, at++, row->pid);
    sqlite3_bind_int64(statement, at++, row->start_ticks);
    sqlite3_bind_int64(statement, at++, row->guard_pid);
    sqlite3_bind_int64(statement, at++, row->guard_start_ticks);
    sqlite_link_text(statement, at++, row->seen_clock);
    sqlite3_bind_int64(statement, at++, row->seen_boot_ms);
    sqlite_link_text(statement, at++, row->fingerprint[0] == '\0' ? NULL : row->fingerprint);
    return sqlite_link_run(link, statement);
}
