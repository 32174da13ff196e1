/* SPDX-License-Identifier: ISC */
/* The least that starting many commands at one instant costs: one sleep, one claim for all of them
 * where a CONNINFO is given, a posix_spawn for each, one release. Nothing is supervised.
 * schedule_floor SECOND COUNT STAMP FILE [CONNINFO]; needs the table of run_cost.sh. */
#include <errno.h>
#include <libpq-fe.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#define CLAIM                                                                                      \
    "INSERT INTO floor_lease AS l (name, owner, token, claimed_at, expires_at) "                   \
    "SELECT 'j' || i, 'floor', 1, clock_timestamp(), clock_timestamp() + interval '1 minute' "     \
    "FROM generate_series(1, $1::int) i ORDER BY 1 ON CONFLICT (name) DO UPDATE SET "              \
    "owner = excluded.owner, token = l.token + 1, claimed_at = excluded.claimed_at, "              \
    "expires_at = excluded.expires_at WHERE l.owner IS NULL OR l.expires_at <= clock_timestamp() " \
    "RETURNING name, token"
#define RELEASE                                                                                    \
    "UPDATE floor_lease SET owner = NULL, expires_at = NULL WHERE owner = 'floor' "                \
    "AND name IN (SELECT 'j' || i FROM generate_series(1, $1::int) i)"

extern char **environ;

static void ask(PGconn *connection, const char *sql, const char *count)
{
    PGresult *result = PQexecParams(connection, sql, 1, NULL, &count, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK) {
        fprintf(stderr, "schedule_floor: %s", PQerrorMessage(connection));
        exit(70);
    }
    PQclear(result);
}

static void start(const char *stamp, const char *file, int number)
{
    char name[32];
    pid_t pid;
    snprintf(name, sizeof name, "j%d", number);
    char *argv[] = {(char *)stamp, (char *)file, name, NULL};
    if (posix_spawn(&pid, stamp, NULL, NULL, argv, environ) != 0)
        exit(71);
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    int count = atoi(argv[2]);
    PGconn *connection = argc > 5 ? PQconnectdb(argv[5]) : NULL;
    if (connection != NULL && PQstatus(connection) != CONNECTION_OK) {
        fprintf(stderr, "schedule_floor: %s", PQerrorMessage(connection));
        return 70;
    }
    struct timespec due = {.tv_sec = atol(argv[1])};
    while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &due, NULL) == EINTR)
        continue;
    if (connection != NULL)
        ask(connection, CLAIM, argv[2]);
    int running = 0;
    for (int i = 0; i < count; i++) {
        start(argv[3], argv[4], i);
        running++;
        while (running > 0 && waitpid(-1, NULL, running < 64 ? WNOHANG : 0) > 0)
            running--;
    }
    while (running-- > 0)
        waitpid(-1, NULL, 0);
    if (connection != NULL) {
        ask(connection, RELEASE, argv[2]);
        PQfinish(connection);
    }
    return 0;
}
