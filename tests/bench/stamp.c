/* SPDX-License-Identifier: ISC */
/* stamp FILE NAME: appends "NAME microseconds-since-1970", in one write. The command of a bench. */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct timespec now;
    char line[256];
    if (argc != 3)
        return 2;
    clock_gettime(CLOCK_REALTIME, &now);
    int fd = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    int length = snprintf(line, sizeof line, "%s %lld\n", argv[2],
                          (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    return fd < 0 || write(fd, line, (size_t)length) != length;
}
