/* SPDX-License-Identifier: ISC */
/* A command that leaves evidence of when it lived.
 *
 *   stamp FILE MS [--ignore-term]
 *
 * Appends one line "BOOT_US EVENT PID FENCE KEY" to FILE at start, at every beat (10 ms) and at its
 * end, for MS milliseconds (0: until it is stopped). CLOCK_BOOTTIME in microseconds, the same for
 * all processes of the machine. TERM and INT end it with a last line and status 128 + n; one that
 * ignores them notes "told" and goes on. A KILL leaves the last beat. tests/lib/overlaps.py reads
 * the file. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BEAT_MS 10

static int64_t boot_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static const char *given(const char *name)
{
    const char *value = getenv(name);
    return value == NULL || value[0] == '\0' ? "-" : value;
}

/* One write(2) with O_APPEND: lines of many processes do not mix. */
static void tell(int fd, const char *event)
{
    char line[2048];
    int length = snprintf(line, sizeof line, "%" PRId64 " %s %d %s %s\n", boot_us(), event,
                          (int)getpid(), given("LEASERUN_FENCE"), given("LEASERUN_KEY"));
    if (write(fd, line, (size_t)length) != length) {
        perror("stamp");
        exit(99);
    }
}

/* Waits one beat; the number of a stop signal that came, else 0. */
static int wait_beat(const sigset_t *stops)
{
    const struct timespec beat = {0, BEAT_MS * 1000000};
    int number = sigtimedwait(stops, NULL, &beat);
    return number < 0 ? 0 : number;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: stamp FILE MS [--ignore-term]\n");
        return 64;
    }
    int fd = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        perror(argv[1]);
        return 99;
    }
    int64_t length_us = strtoll(argv[2], NULL, 10) * 1000;
    int is_deaf = argc > 3 && strcmp(argv[3], "--ignore-term") == 0;
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    sigprocmask(SIG_BLOCK, &stops, NULL);

    int64_t end_us = boot_us() + length_us;
    int number = 0;
    tell(fd, "start");
    while ((number == 0 || is_deaf) && (length_us == 0 || boot_us() < end_us)) {
        number = wait_beat(&stops);
        tell(fd, number == 0 ? "beat" : "told");
    }
    tell(fd, "end");
    return number != 0 && !is_deaf ? 128 + number : 0;
}
