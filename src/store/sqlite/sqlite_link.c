/* SPDX-License-Identifier: ISC */
#include "store/sqlite/sqlite_link.h"

#include "base/mem.h"
#include "base/now.h"
#include "base/random.h"
#include "store/sqlite/sqlite_liveness.h"
#include "store/sqlite/sqlite_schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Pages in the write-ahead log before a commit moves them into the file. The log outlives the last
 * process and is read whole by the next one that opens: short is quick. */
#define CHECKPOINT_PAGES 64
/* Instructions of SQLite's machine between two looks whether anybody still waits. */
#define PROGRESS_STEPS     10000
#define BUSY_SLEEP_MOST_US 10000

void sqlite_link_init(struct sqlite_link *link, struct sqlite_file *file)
{
    *link = (struct sqlite_link){.file = *file};
    *file = (struct sqlite_file){.path = NULL};
}

void sqlite_link_done(struct sqlite_link *link)
{
    sqlite_link_close(link);
    sqlite_link_clear_notes(link);
    sqlite_file_done(&link->file);
    free(link->self);
    link->self = NULL;
}

/* ---- faults ------------------------------------------------------------------------------ */

static enum store_failure failure_of(int code, int system_errno)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_INTERRUPT:
        return FAILURE_CONFLICT;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
        return FAILURE_RIGHTS;
    case SQLITE_CANTOPEN:
        return system_errno == EACCES || system_errno == EPERM || system_errno == EROFS
                   ? FAILURE_RIGHTS
                   : FAILURE_OTHER;
    default:
        return FAILURE_OTHER;
    }
}

static bool tells_errno(int code)
{
    int kind = code & 0xff;
    return kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR || kind == SQLITE_FULL;
}

bool sqlite_link_fail(struct sqlite_link *link, int code)
{
    int system_errno = link->db == NULL ? 0 : sqlite3_system_errno(link->db);
    const char *why = link->db == NULL ? sqlite3_errstr(code) : sqlite3_errmsg(link->db);
    link->failure = failure_of(code, system_errno);
    enum error_kind kind = link->failure == FAILURE_RIGHTS ? ERROR_CONFIG : ERROR_STORE;
    if (link->failure == FAILURE_CONFLICT)
        return error_set(&link->error, kind, "%s is locked by another process for too long (%s)",
                         link->file.path, why);
    if (tells_errno(code) && system_errno != 0)
        return error_set_errno(&link->error, kind, system_errno, "%s: %s", link->file.path, why);
    return error_set(&link->error, kind, "%s: %s", link->file.path, why);
}

bool sqlite_link_refuse(struct sqlite_link *link, enum store_failure failure, const char *format,
                        ...)
{
    char text[sizeof link->error.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    link->failure = failure;
    return error_set(&link->error, failure == FAILURE_OTHER ? ERROR_STORE : ERROR_CONFIG, "%s",
                     text);
}

void sqlite_link_note(struct sqlite_link *link, const char *format, ...)
{
    char text[sizeof link->error.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    link->notes = mem_grow(link->notes, link->note_count + 1, sizeof *link->notes);
    link->notes[link->note_count++] = mem_strdup(text);
}

void sqlite_link_clear_notes(struct sqlite_link *link)
{
    for (size_t i = 0; i < link->note_count; i++)
        free(link->notes[i]);
    free(link->notes);
    link->notes = NULL;
    link->note_count = 0;
}

/* ---- waiting ----------------------------------------------------------------------------- */

static bool is_given_up(const struct sqlite_link *link)
{
    return link->is_given_up != NULL && atomic_load(link->is_given_up);
}

/* False when it is too late to go on waiting. SQLite has no event for the end of a lock. */
static bool wait_a_little(struct sqlite_link *link, int tries)
{
    if (is_given_up(link) || now_boot_ms() >= link->busy_until_boot_ms)
        return false;
    int64_t most_us = INT64_C(500) << (tries > 5 ? 5 : tries);
    if (most_us > BUSY_SLEEP_MOST_US)
        most_us = BUSY_SLEEP_MOST_US;
    struct timespec pause = {.tv_nsec = (most_us / 2 + random_below(most_us / 2)) * 1000};
    nanosleep(&pause, NULL);
    return true;
}

static int on_busy(void *link, int tries)
{
    return wait_a_little(link, tries);
}

static int on_progress(void *link)
{
    return is_given_up(link);
}

/* ---- open and close ---------------------------------------------------------------------- */

static bool open_file(struct sqlite_link *link)
{
    /* Locks of a process on a file end when it closes any descriptor of it: everything that
     * looks at the file by descriptor has happened in sqlite_file_prepare, before this. */
    int code =
        sqlite3_open_v2(link->file.path, &link->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (code != SQLITE_OK)
        return sqlite_link_fail(link, code);
    sqlite3_busy_handler(link->db, on_busy, link);
    sqlite3_progress_handler(link->db, PROGRESS_STEPS, on_progress, link);
    sqlite3_db_config(link->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_wal_autocheckpoint(link->db, CHECKPOINT_PAGES);
    return sqlite_link_exec(link, "PRAGMA synchronous = FULL") && sqlite_schema_ensure(link);
}

static bool read_self(struct sqlite_link *link)
{
    if (link->self != NULL)
        return true;
    struct sqlite_self *self = mem_alloc(sizeof *self);
    if (!sqlite_self_read(self, &link->error)) {
        link->failure = FAILURE_OTHER;
        free(self);
        return false;
    }
    link->self = self;
    return true;
}

static bool has_moved(struct sqlite_link *link)
{
    int moved = 0;
    sqlite3_file_control(link->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

bool sqlite_link_open(struct sqlite_link *link)
{
    if (link->db != NULL && !has_moved(link))
        return true;
    sqlite_link_close(link);
    if (!read_self(link) || !sqlite_file_prepare(&link->file, &link->failure, &link->error))
        return false;
    /* Several who create the file at once meet locks that no busy handler is asked about. */
    for (int tries = 0; !open_file(link); tries++) {
        sqlite_link_close(link);
        if (link->failure != FAILURE_CONFLICT || !wait_a_little(link, tries))
            return false;
    }
    return true;
}

void sqlite_link_close(struct sqlite_link *link)
{
    for (int i = 0; i < SQL_COUNT; i++) {
        sqlite3_finalize(link->statements[i]);
        link->statements[i] = NULL;
    }
    sqlite3_close(link->db);
    link->db = NULL;
}

/* ---- statements -------------------------------------------------------------------------- */

sqlite3_stmt *sqlite_link_statement(struct sqlite_link *link, enum sqlite_sql which)
{
    sqlite3_stmt **statement = &link->statements[which];
    if (*statement == NULL) {
        int code = sqlite3_prepare_v3(link->db, sqlite_ops_sql[which], -1,
                                      SQLITE_PREPARE_PERSISTENT, statement, NULL);
        if (code != SQLITE_OK)
            sqlite_link_fail(link, code);
    }
    return *statement;
}

enum sqlite_step sqlite_link_step(struct sqlite_link *link, sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        return SQLITE_STEP_ROW;
    if (code != SQLITE_DONE)
        sqlite_link_fail(link, code);
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? SQLITE_STEP_DONE : SQLITE_STEP_FAILED;
}

bool sqlite_link_run(struct sqlite_link *link, sqlite3_stmt *statement)
{
    enum sqlite_step step;
    do
        step = sqlite_link_step(link, statement);
    while (step == SQLITE_STEP_ROW);
    return step == SQLITE_STEP_DONE;
}

bool sqlite_link_exec(struct sqlite_link *link, const char *sql)
{
    int code = sqlite3_exec(link->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK || sqlite_link_fail(link, code);
}

bool sqlite_link_pragma(struct sqlite_link *link, const char *sql, int64_t *ret_value)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(link->db, sql, -1, &statement, NULL);
    if (code != SQLITE_OK)
        return sqlite_link_fail(link, code);
    enum sqlite_step step = sqlite_link_step(link, statement);
    if (step == SQLITE_STEP_ROW)
        *ret_value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return step != SQLITE_STEP_FAILED;
}

void sqlite_link_text(sqlite3_stmt *statement, int at, const char *text)
{
    sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

void sqlite_link_instant(sqlite3_stmt *statement, int at, int64_t us)
{
    if (us == NO_INSTANT)
        sqlite3_bind_null(statement, at);
    else
        sqlite3_bind_int64(statement, at, us);
}

int64_t sqlite_link_read_instant(sqlite3_stmt *statement, int column)
{
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return NO_INSTANT;
    return sqlite3_column_int64(statement, column);
}

/* ---- transactions ------------------------------------------------------------------------ */

bool sqlite_link_begin(struct sqlite_link *link)
{
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_BEGIN);
    return statement != NULL && sqlite_link_run(link, statement);
}

bool sqlite_link_commit(struct sqlite_link *link)
{
    if (is_given_up(link)) {
        sqlite_link_rollback(link);
        return sqlite_link_fail(link, SQLITE_INTERRUPT);
    }
    sqlite3_stmt *statement = sqlite_link_statement(link, SQL_COMMIT);
    if (statement != NULL && sqlite_link_run(link, statement))
        return true;
    sqlite_link_rollback(link);
    return false;
}

void sqlite_link_rollback(struct sqlite_link *link)
{
    if (link->db == NULL || sqlite3_get_autocommit(link->db))
        return;
    for (int i = 0; i < SQL_COUNT; i++)
        if (link->statements[i] != NULL)
            sqlite3_reset(link->statements[i]);
    sqlite3_exec(link->db, "ROLLBACK", NULL, NULL, NULL);
}
