/* SPDX-License-Identifier: ISC */
#include "store/sqlite/sqlite_schema.h"

#include <inttypes.h>
#include <string.h>

#define STRING_OF(number) #number
#define STRING(macro)     STRING_OF(macro)
#define APPLICATION_ID    1280537198 /* "LSrn" in the header, where file(1) finds it */
#define OLDEST_READER     1

/* Names and meanings as in PostgreSQL's schema, with what one host's clock and processes add.
 * Keys are compared by bytes: text has the collation BINARY. runs is kept in order of insertion. */
static const char tables[] =
    "CREATE TABLE leases ("
    " key TEXT NOT NULL PRIMARY KEY,"
    " holder TEXT NOT NULL, run_id TEXT NOT NULL, previous_run_id TEXT NOT NULL,"
    " fence INTEGER NOT NULL,"
    " attempt INTEGER NOT NULL, slot_us INTEGER,"
    " is_released INTEGER NOT NULL, is_revoked INTEGER NOT NULL, ttl_ms INTEGER NOT NULL,"
    " clock TEXT NOT NULL, expires_boot_ms INTEGER NOT NULL, hold_boot_ms INTEGER NOT NULL,"
    " acquired_us INTEGER NOT NULL, expires_us INTEGER NOT NULL, hold_until_us INTEGER,"
    " written_us INTEGER NOT NULL,"
    " pid_namespace INTEGER NOT NULL, pid INTEGER NOT NULL, start_ticks INTEGER NOT NULL,"
    " guard_pid INTEGER NOT NULL, guard_start_ticks INTEGER NOT NULL,"
    " seen_clock TEXT NOT NULL, seen_boot_ms INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE runs ("
    " run_id TEXT NOT NULL UNIQUE, key TEXT NOT NULL, job TEXT, holder TEXT NOT NULL,"
    " attempt INTEGER NOT NULL, fence INTEGER NOT NULL, slot_us INTEGER,"
    " is_once INTEGER NOT NULL, started_us INTEGER, finished_us INTEGER,"
    " outcome TEXT, status INTEGER NOT NULL, abandoned_by TEXT"
    ") STRICT;"
    "CREATE UNIQUE INDEX runs_slot ON runs (key, slot_us) WHERE slot_us IS NOT NULL;"
    "CREATE INDEX runs_once ON runs (key) WHERE is_once = 1 AND outcome = 'succeeded';"
    "CREATE TABLE fence_seq (last INTEGER NOT NULL) STRICT;"
    "INSERT INTO fence_seq VALUES (0);"
    "CREATE TABLE schema_version (version INTEGER NOT NULL, oldest_reader INTEGER NOT NULL) STRICT;"
    "INSERT INTO schema_version VALUES (" STRING(SQLITE_SCHEMA_VERSION) ", " STRING(
        OLDEST_READER) ");"
                       "PRAGMA application_id = " STRING(
                           APPLICATION_ID) ";"
                                           "PRAGMA user_version = " STRING(
                                               SQLITE_SCHEMA_VERSION) ";";

static bool read_marks(struct sqlite_link *link, int64_t *ret_application, int64_t *ret_version)
{
    return sqlite_link_pragma(link, "PRAGMA application_id", ret_application) &&
           sqlite_link_pragma(link, "PRAGMA user_version", ret_version);
}

/* The journal mode is kept in the file. Two who set it at once: one is told to come again. */
static bool set_journal_mode(struct sqlite_link *link)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(link->db, "PRAGMA journal_mode = WAL", -1, &statement, NULL);
    if (code != SQLITE_OK)
        return sqlite_link_fail(link, code);
    enum sqlite_step step = sqlite_link_step(link, statement);
    const char *mode =
        step == SQLITE_STEP_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    bool is_set = mode != NULL && strcmp(mode, "wal") == 0;
    sqlite3_finalize(statement);
    if (step == SQLITE_STEP_FAILED)
        return false;
    return is_set || sqlite_link_fail(link, SQLITE_BUSY);
}

static bool check_empty(struct sqlite_link *link)
{
    int64_t count = 0;
    if (!sqlite_link_pragma(link, "SELECT count(*) FROM sqlite_schema", &count))
        return false;
    return count == 0 || sqlite_link_refuse(link, FAILURE_SCHEMA,
                                            "%s is a SQLite file of another program: it was not "
                                            "touched; name another file",
                                            link->file.path);
}

static bool create(struct sqlite_link *link)
{
    int64_t application = 0, version = 0;
    bool is_new = false;
    if (!check_empty(link) || !set_journal_mode(link) || !sqlite_link_begin(link))
        return false;
    bool is_done = read_marks(link, &application, &version);
    if (is_done && application != APPLICATION_ID) {
        is_done = check_empty(link) && sqlite_link_exec(link, tables);
        is_new = is_done;
    }
    if (!is_done || !sqlite_link_commit(link)) {
        sqlite_link_rollback(link);
        return false;
    }
    link->is_created = is_new;
    return true;
}

static bool check_reader(struct sqlite_link *link, int64_t version)
{
    int64_t oldest_reader = INT64_MAX;
    if (!sqlite_link_pragma(link, "SELECT max(oldest_reader) FROM main.schema_version",
                            &oldest_reader))
        return false;
    return oldest_reader <= SQLITE_SCHEMA_VERSION ||
           sqlite_link_refuse(link, FAILURE_SCHEMA,
                              "%s has schema version %" PRId64 " and needs a newer leaserun: this "
                              "one reads up to version %d",
                              link->file.path, version, SQLITE_SCHEMA_VERSION);
}

bool sqlite_schema_ensure(struct sqlite_link *link)
{
    int64_t application = 0, version = 0;
    if (!read_marks(link, &application, &version))
        return false;
    if (application == APPLICATION_ID && version == SQLITE_SCHEMA_VERSION)
        return true;
    if (application == APPLICATION_ID)
        return check_reader(link, version);
    if (application != 0 || version != 0)
        return sqlite_link_refuse(link, FAILURE_SCHEMA,
                                  "%s is a SQLite file of another program: it was not touched; "
                                  "name another file",
                                  link->file.path);
    return create(link);
}
