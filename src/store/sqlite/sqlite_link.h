/* SPDX-License-Identifier: ISC */
/* One connection to the file, used by one thread at a time, and the fault of the request that is
 * being served on it. Every function that returns false (or NULL, or FAILED) has filled failure
 * and error. Between requests no transaction and no statement is open. */
#pragma once
#include "store/sqlite/sqlite_file.h"
#include "store/store.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The statements, in the order of enum store_kind; their text is in sqlite_ops.c. */
enum sqlite_sql {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_LEASE,
    SQL_LEASE_WRITE,
    /* claim */
    SQL_RUN_OF_SLOT,
    SQL_ONCE_SUCCEEDED,
    SQL_NEXT_FENCE,
    SQL_RUN_AGAIN,
    SQL_RUN_START,
    SQL_RUN_GIVE_WAY,
    SQL_RUN_UNSTARTED,
    SQL_RUN_ABANDON,
    SQL_RUN_STATE,
    SQL_RUN_TAKE,
    SQL_RUN_GIVE_UP,
    /* release */
    SQL_RUN_FINISH,
    SQL_RUN_OUTCOME,
    /* undo */
    SQL_RUN_UNDO,
    SQL_RUN_KEEP_OUT,
    SQL_LAST_SLOT,
    /* status, history */
    SQL_LEASES,
    SQL_RUNS,
    SQL_SLOTS,
    SQL_OLDEST_SLOT,
    /* recall */
    SQL_RECALL,
    SQL_INTERRUPTED,
    /* purge, forget */
    SQL_LEASES_PURGE,
    SQL_RUNS_PURGE,
    SQL_LEASE_FORGET,
    SQL_RUNS_FORGET,
    SQL_RUNS_CLOSE,
    SQL_COUNT
};

extern const char *const sqlite_ops_sql[SQL_COUNT];

struct sqlite_self;

struct sqlite_link {
    struct sqlite_file file;
    struct sqlite_self *self;
    sqlite3 *db; /* NULL: closed */
    sqlite3_stmt *statements[SQL_COUNT];

    /* of the request that is being served */
    const atomic_bool *is_given_up; /* nobody waits for the answer any more; NULL: never */
    int64_t sent_boot_ms;
    int64_t busy_until_boot_ms; /* how long to wait for another process's lock */
    bool is_created;            /* the tables were made on its behalf */
    enum store_failure failure;
    struct error error;
    char **notes; /* for the log; freed by sqlite_link_clear_notes */
    size_t note_count;
};

/* Takes the file over. The link is closed until the first request. */
void sqlite_link_init(struct sqlite_link *link, struct sqlite_file *file);
void sqlite_link_done(struct sqlite_link *link); /* closes too */

/* Opens the file when it is closed, or has been put in the place of the one that is open. */
bool sqlite_link_open(struct sqlite_link *link);
void sqlite_link_close(struct sqlite_link *link);

/* A write transaction: waits for other writers until busy_until_boot_ms. */
bool sqlite_link_begin(struct sqlite_link *link);
bool sqlite_link_commit(struct sqlite_link *link);   /* also rolls back what nobody waits for */
void sqlite_link_rollback(struct sqlite_link *link); /* nothing when none is open */

/* Prepared once for each connection, ready to be bound. */
sqlite3_stmt *sqlite_link_statement(struct sqlite_link *link, enum sqlite_sql which);

enum sqlite_step {
    SQLITE_STEP_ROW, /* the caller resets the statement when it has read */
    SQLITE_STEP_DONE,
    SQLITE_STEP_FAILED,
};

enum sqlite_step sqlite_link_step(struct sqlite_link *link, sqlite3_stmt *statement);
bool sqlite_link_run(struct sqlite_link *link, sqlite3_stmt *statement); /* to its end */
bool sqlite_link_exec(struct sqlite_link *link, const char *sql);
bool sqlite_link_pragma(struct sqlite_link *link, const char *sql, int64_t *ret_value);

void sqlite_link_text(sqlite3_stmt *statement, int at, const char *text); /* borrowed; NULL: null */
void sqlite_link_instant(sqlite3_stmt *statement, int at, int64_t us);    /* NO_INSTANT: null */
int64_t sqlite_link_read_instant(sqlite3_stmt *statement, int column);

/* Fills failure and error from SQLite's last fault. Returns false. */
bool sqlite_link_fail(struct sqlite_link *link, int code);
/* The same with a sentence of our own. Returns false. */
bool sqlite_link_refuse(struct sqlite_link *link, enum store_failure failure, const char *format,
                        ...) __attribute__((format(printf, 3, 4)));

void sqlite_link_note(struct sqlite_link *link, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sqlite_link_clear_notes(struct sqlite_link *link);
