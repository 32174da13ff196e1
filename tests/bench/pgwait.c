/* SPDX-License-Identifier: ISC */
/* The least that a handoff costs through libpq, by each way to wait: as pgfloor.c, and a claim that
 * finds the key held waits for it. pgwait HOW CONNINFO KEY COMMAND [ARG...], HOW one of
 *
 *   notify    listens; every release notifies
 *   advisory  no row: the server's own queue of a session's advisory lock
 *   NUMBER    asks again after so many milliseconds */
#include "floor_sql.h"

#include <libpq-fe.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static const char *how;
static PGconn *connection;

static PGresult *ask(const char *sql, int count, const char *const *values)
{
    PGresult *result = PQexecParams(connection, sql, count, NULL, values, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return result;
    fprintf(stderr, "pgwait: %s", PQerrorMessage(connection));
    exit(70);
}

static void wait_for_word(void)
{
    struct pollfd socket = {.fd = PQsocket(connection), .events = POLLIN};
    PGnotify *word;
    while ((word = PQnotifies(connection)) == NULL) {
        poll(&socket, 1, -1);
        PQconsumeInput(connection);
    }
    for (; word != NULL; word = PQnotifies(connection))
        PQfreemem(word);
}

static void wait_a_while(void)
{
    long ms = strtol(how, NULL, 10);
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void claim(const char *const *values, char token[32])
{
    for (;;) {
        PGresult *result = ask(FLOOR_CLAIM, 2, values);
        if (PQntuples(result) == 1) {
            snprintf(token, 32, "%s", PQgetvalue(result, 0, 0));
            PQclear(result);
            return;
        }
        PQclear(result);
        if (strcmp(how, "notify") == 0)
            wait_for_word();
        else
            wait_a_while();
    }
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
    char owner[64], token[32] = "";
    if (argc < 5)
        return 2;
    how = argv[1];
    connection = PQconnectdb(argv[2]);
    if (PQstatus(connection) != CONNECTION_OK)
        return 70;
    snprintf(owner, sizeof owner, "floor:%d", (int)getpid());
    const char *values[] = {argv[3], owner, token};
    if (strcmp(how, "advisory") == 0) {
        PQclear(ask("SELECT pg_advisory_lock(hashtext($1))", 1, values));
        int code = spawn_and_wait(argv + 4);
        PQfinish(connection);
        return code;
    }
    if (strcmp(how, "notify") == 0)
        PQclear(ask("LISTEN floor", 0, NULL));
    claim(values, token);
    int code = spawn_and_wait(argv + 4);
    if (strcmp(how, "notify") == 0)
        PQclear(ask("WITH freed AS (" FLOOR_RELEASE " RETURNING name) "
                    "SELECT pg_notify('floor', name) FROM freed",
                    3, values));
    else
        PQclear(ask(FLOOR_RELEASE, 3, values));
    PQfinish(connection);
    return code;
}
