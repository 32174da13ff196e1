/* SPDX-License-Identifier: ISC */
/* The least that one exclusive run costs through libpq: connect, claim, spawn and wait, release,
 * close; nothing supervised, nothing renewed. pgfloor CONNINFO KEY COMMAND [ARG...] */
#include "floor_sql.h"

#include <libpq-fe.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void die(PGconn *connection, const char *what)
{
    fprintf(stderr, "pgfloor: %s: %s", what, PQerrorMessage(connection));
    exit(70);
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
    char owner[64], token[32];
    if (argc < 4)
        return 2;
    PGconn *connection = PQconnectdb(argv[1]);
    if (PQstatus(connection) != CONNECTION_OK)
        die(connection, "connect");
    snprintf(owner, sizeof owner, "floor:%d", (int)getpid());
    const char *values[] = {argv[2], owner, token};
    PGresult *result = PQexecParams(connection, FLOOR_CLAIM, 2, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
        die(connection, "claim");
    snprintf(token, sizeof token, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    int code = spawn_and_wait(argv + 3);
    result = PQexecParams(connection, FLOOR_RELEASE, 3, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_COMMAND_OK || strcmp(PQcmdTuples(result), "1") != 0)
        die(connection, "release");
    PQclear(result);
    PQfinish(connection);
    return code;
}
