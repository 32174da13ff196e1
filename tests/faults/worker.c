/* SPDX-License-Identifier: ISC */
/* The command of the fault harness: leaves evidence of its life, and writes to a resource that
 * checks fences.
 *
 *   worker STAMPS RESOURCE MS[-MS] STATUS[/N] [--deaf]
 *
 * Appends a line "BOOT_US EVENT PID FENCE RUN_ID SLOT KEY" to STAMPS at its start, at every beat
 * and at its end, MS milliseconds later (of two, something between them that follows from the
 * fence), when it exits with STATUS (of N attempts with 0 but once); with TERM or INT it ends at
 * once with 128 + n, unless it is deaf. A KILL leaves the last beat. BOOT_US is CLOCK_BOOTTIME in
 * microseconds, the same for every process of the machine; "-" stands for what is not set.
 *
 * RESOURCE is a datagram socket; at every beat it gets "FENCE RUN_ID KEY". */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BEAT_MS 20

struct worker {
    int stamps_fd, resource_fd;
    struct sockaddr_un resource;
};

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
static void stamp(const struct worker *worker, const char *event)
{
    char line[1024];
    int length = snprintf(line, sizeof line, "%" PRId64 " %s %d %s %s %s %s\n", boot_us(), event,
                          (int)getpid(), given("LEASERUN_FENCE"), given("LEASERUN_RUN_ID"),
                          given("LEASERUN_SLOT"), given("LEASERUN_KEY"));
    if (write(worker->stamps_fd, line, (size_t)length) != length)
        exit(99);
}

static void use_resource(const struct worker *worker)
{
    char line[1024];
    int length = snprintf(line, sizeof line, "%s %s %s", given("LEASERUN_FENCE"),
                          given("LEASERUN_RUN_ID"), given("LEASERUN_KEY"));
    sendto(worker->resource_fd, line, (size_t)length, MSG_DONTWAIT,
           (const struct sockaddr *)&worker->resource, sizeof worker->resource);
}

static bool open_both(struct worker *worker, const char *stamps, const char *resource)
{
    worker->stamps_fd = open(stamps, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    worker->resource_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    worker->resource = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(worker->resource.sun_path, sizeof worker->resource.sun_path, "%s", resource);
    return worker->stamps_fd >= 0 && worker->resource_fd >= 0;
}

static int64_t number_of(const char *name)
{
    return strtoll(given(name), NULL, 10);
}

/* Neighbouring fences give numbers far apart. */
static int64_t work_ms(const char *text)
{
    char *end;
    int64_t least = strtoll(text, &end, 10);
    int64_t most = *end == '-' ? strtoll(end + 1, NULL, 10) : least;
    return least + number_of("LEASERUN_FENCE") * 7919 % (most - least + 1);
}

static int status_of(const char *text)
{
    char *end;
    int status = (int)strtol(text, &end, 10);
    int64_t every = *end == '/' ? strtoll(end + 1, NULL, 10) : 1;
    int64_t turn = number_of("LEASERUN_FENCE") + number_of("LEASERUN_ATTEMPT");
    return turn % every == 0 ? status : 0;
}

/* Waits one beat; the number of a stop signal that came, else 0. */
static int wait_beat(void)
{
    const struct timespec beat = {0, BEAT_MS * 1000000};
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    sigprocmask(SIG_BLOCK, &stops, NULL);
    int number = sigtimedwait(&stops, NULL, &beat);
    return number < 0 ? 0 : number;
}

int main(int argc, char **argv)
{
    struct worker worker;
    if (argc < 5 || !open_both(&worker, argv[1], argv[2]))
        return 99;
    bool is_deaf = argc > 5 && strcmp(argv[5], "--deaf") == 0;
    int64_t end_us = boot_us() + work_ms(argv[3]) * 1000;
    int number = 0;
    stamp(&worker, "start");
    while (boot_us() < end_us && (number == 0 || is_deaf)) {
        number = wait_beat();
        stamp(&worker, "beat");
        use_resource(&worker);
    }
    stamp(&worker, "end");
    return number != 0 && !is_deaf ? 128 + number : status_of(argv[4]);
}
