/* SPDX-License-Identifier: ISC */
/* The command of handoff.sh: hold FILE NAME [HOLD_MS] appends "NAME start NANOSECONDS" and, having
 * stayed that long, "NAME end NANOSECONDS" as its last act. Linked statically: it starts at once.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void put(int fd, const char *name, const char *what)
{
    char line[128];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int length = snprintf(line, sizeof line, "%.60s %s %lld\n", name, what,
                          (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    if (write(fd, line, (size_t)length) != length)
        _exit(1);
}

int main(int argc, char **argv)
{
    int fd = argc < 3 ? -1 : open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return 1;
    put(fd, argv[2], "start");
    if (argc > 3) {
        long ms = strtol(argv[3], NULL, 10);
        struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
        nanosleep(&pause, NULL);
        put(fd, argv[2], "end");
    }
    return 0;
}
