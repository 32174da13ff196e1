/* SPDX-License-Identifier: ISC */
/* A row of the table leases as a value. *_boot_ms count on the clock that `clock` names; *_us are
 * by this host's wall clock, for showing and for comparing across boots. */
#pragma once
#include "base/identity.h"
#include "base/now.h"
#include "store/sqlite/sqlite_link.h"

#include <stdbool.h>
#include <stdint.h>

#define SQLITE_CLOCK_MAX 80

struct sqlite_row {
    bool exists;
    char holder[IDENTITY_HOLDER_MAX];
    char run_id[IDENTITY_RUN_ID_MAX];          /* of the last mandate, "" when it was undone */
    char previous_run_id[IDENTITY_RUN_ID_MAX]; /* of the mandate before it, "" for none */
    int64_t fence;
    int64_t attempt;
    int64_t slot_us;
    bool is_released;
    bool is_revoked;
    int64_t ttl_ms;
    char clock[SQLITE_CLOCK_MAX];
    int64_t expires_boot_ms;
    int64_t hold_boot_ms;
    int64_t acquired_us;
    int64_t expires_us;
    int64_t hold_until_us; /* NO_INSTANT: no hold */
    int64_t written_us;
    uint64_t pid_namespace;
    int64_t pid, start_ticks;
    int64_t guard_pid, guard_start_ticks; /* 0: none */
    char seen_clock[SQLITE_CLOCK_MAX];
    int64_t seen_boot_ms;
    char fingerprint[FINGERPRINT_MAX]; /* of the last winner that had one, or "" */
};

/* The columns in the order of sqlite_row_fill, for the SELECT list. */
#define SQLITE_ROW_COLUMNS                                                                         \
    "holder, run_id, previous_run_id, fence, attempt, slot_us, is_released, is_revoked, ttl_ms, "  \
    "clock, "                                                                                      \
    "expires_boot_ms, hold_boot_ms, acquired_us, expires_us, hold_until_us, written_us, "          \
    "pid_namespace, pid, start_ticks, guard_pid, guard_start_ticks, seen_clock, seen_boot_ms, "    \
    "fingerprint"

/* Reads the columns from first_column on. */
void sqlite_row_fill(sqlite3_stmt *statement, int first_column, struct sqlite_row *ret_row);

/* Reads the row of a key; exists is false when there is none. */
bool sqlite_row_read(struct sqlite_link *link, const char *key, struct sqlite_row *ret_row);

/* Writes it, in a transaction, in place of the key's old one. */
bool sqlite_row_write(struct sqlite_link *link, const char *key, const struct sqlite_row *row);
