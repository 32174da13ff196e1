/* SPDX-License-Identifier: ISC */
/* Starts a program the way a careless parent would.
 *
 *   start_as [--close|--block|--ignore|--default N]... -- PROGRAM [ARGUMENT...]
 *
 * --close: the descriptor is closed. --block, --ignore, --default: the signal's number (a shell
 * ignores INT and QUIT in what it starts in the background). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void block(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

int main(int argc, char **argv)
{
    int at = 1;
    for (; at + 1 < argc && strcmp(argv[at], "--") != 0; at += 2) {
        int number = atoi(argv[at + 1]);
        if (strcmp(argv[at], "--close") == 0)
            close(number);
        else if (strcmp(argv[at], "--block") == 0)
            block(number);
        else if (strcmp(argv[at], "--ignore") == 0)
            signal(number, SIG_IGN);
        else if (strcmp(argv[at], "--default") == 0)
            signal(number, SIG_DFL);
        else
            return 64;
    }
    if (at + 1 >= argc)
        return 64;
    execvp(argv[at + 1], argv + at + 1);
    return errno == ENOENT ? 127 : 126;
}
