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
    " seen_clock TEXT NOT NULL, seen_boot_ms INTEGER NOT NULL, fingerprint TEXT"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE runs ("
    " run_id TEXT NOT NULL UNIQUE, key TEXT NOT NULL, job TEXT, holder TEXT NOT NULL,"
    " attempt INTEGER NOT NULL, fence INTEGER NOT NULL, slot_us INTEGER,"
    " is_once INTEGER NOT NULL, started_us INTEGER, finished_us INTEGER,"
    " outcome TEXT, status INTEGER NOT NULL, abandoned_by TEXT, starts INTEGER,"
    " output_tail BLOB"
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

/* Whose file it is, read at one moment: another process may be creating the tables. */
struct marks {
    int64_t application;
    int64_t version;
    int64_t table_count;
};

static bool read_marks(struct sqlite_link *link, struct marks *ret_marks)
{
    return sqlite_link_pragma(link, "PRAGMA application_id", &ret_marks->application) &&
           sqlite_link_pragma(link, "PRAGMA user_version", &ret_marks->version) &&
           sqlite_link_pragma(link, "SELECT count(*) FROM sqlite_schema", &ret_marks->table_count);
}

static bool read_marks_at_once(struct sqlite_link *link, struct marks *ret_marks)
{
    return sqlite_link_exec(link, "BEGIN") && read_marks(link, ret_marks) &&
           sqlite_link_exec(link, "COMMIT");
}

static bool is_of_another(const struct marks *marks)
{
    return marks->application != APPLICATION_ID &&
           (marks->application != 0 || marks->version != 0 || marks->table_count != 0);
}

static bool refuse_other(struct sqlite_link *link)
{
    return sqlite_link_refuse(link, FAILURE_SCHEMA,
                              "%s is a SQLite file of another program: it was not touched; name "
                              "another file",
                              link->file.path);
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

static bool create(struct sqlite_link *link)
{
    struct marks marks;
    if (!set_journal_mode(link) || !sqlite_link_begin(link) || !read_marks(link, &marks))
        return false;
    bool is_new = marks.application != APPLICATION_ID;
    if (is_of_another(&marks))
        return refuse_other(link);
    if ((is_new && !sqlite_link_exec(link, tables)) || !sqlite_link_commit(link))
        return false;
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
    struct marks marks;
    int64_t application = 0, version = 0;
    if (!sqlite_link_pragma(link, "PRAGMA application_id", &application) ||
        !sqlite_link_pragma(link, "PRAGMA user_version", &version))
        return false;
    if (application == APPLICATION_ID && version == SQLITE_SCHEMA_VERSION)
        return true;
    if (!read_marks_at_once(link, &marks))
        return false;
    if (is_of_another(&marks))
        return refuse_other(link);
    if (marks.application != APPLICATION_ID)
        return create(link);
    return marks.version == SQLITE_SCHEMA_VERSION || check_reader(link, marks.version);
}
