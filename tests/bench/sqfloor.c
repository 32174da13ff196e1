/* SPDX-License-Identifier: ISC */
/* The least that one exclusive run costs on SQLite: open a WAL database, claim, spawn and wait,
 * release, close. synchronous=FULL. sqfloor FILE KEY COMMAND [ARG...]; sqfloor -i FILE creates. */
#include <spawn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static sqlite3 *db;

static void die(const char *what)
{
    fprintf(stderr, "sqfloor: %s: %s\n", what, sqlite3_errmsg(db));
    exit(70);
}

static long long wall_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static sqlite3_stmt *prepare(const char *sql, const char *key, const char *owner, long long number)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        die("prepare");
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, owner, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, number);
    return statement;
}

static int spawn_and_wait(char **argv)
{
    pid_t pid;
    int status;
    if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0)
        return 127;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "-i") == 0) {
        if (sqlite3_open(argv[2], &db) != SQLITE_OK ||
            sqlite3_exec(db,
                         "PRAGMA journal_mode=WAL; CREATE TABLE lease (name TEXT PRIMARY KEY, "
                         "owner TEXT, token INTEGER NOT NULL, claimed_at INTEGER, expires_at "
                         "INTEGER) WITHOUT ROWID",
                         NULL, NULL, NULL) != SQLITE_OK)
            die("create");
        return 0;
    }
    if (argc < 4 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        die("open");
    sqlite3_busy_timeout(db, 5000);
    sqlite3_exec(db, "PRAGMA synchronous=FULL", NULL, NULL, NULL);
    char owner[64];
    snprintf(owner, sizeof owner, "floor:%d", (int)getpid());
    sqlite3_stmt *claim =
        prepare("INSERT INTO lease VALUES (?1, ?2, 1, ?3, ?3 + 60000) ON CONFLICT (name) DO UPDATE "
                "SET owner = excluded.owner, token = token + 1, claimed_at = excluded.claimed_at, "
                "expires_at = excluded.expires_at WHERE owner IS NULL OR expires_at <= ?3 "
                "RETURNING token",
                argv[2], owner, wall_ms());
    if (sqlite3_step(claim) != SQLITE_ROW)
        die("claim");
    long long token = sqlite3_column_int64(claim, 0);
    if (sqlite3_step(claim) != SQLITE_DONE)
        die("claim");
    sqlite3_finalize(claim);
    int code = spawn_and_wait(argv + 3);
    sqlite3_stmt *release = prepare("UPDATE lease SET owner = NULL, expires_at = NULL "
                                    "WHERE name = ?1 AND owner = ?2 AND token = ?3",
                                    argv[2], owner, token);
    if (sqlite3_step(release) != SQLITE_DONE || sqlite3_changes(db) != 1)
        die("release");
    sqlite3_finalize(release);
    sqlite3_close(db);
    return code;
}
