/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "check.h"
#include "log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char seen[1 << 20];

static size_t read_all(int fd)
{
    size_t count = 0;
    for (ssize_t got; (got = read(fd, seen + count, sizeof seen - 1 - count)) > 0;)
        count += (size_t)got;
    seen[count] = '\0';
    return count;
}

static void make_pipe(int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

static void below_the_level__nothing(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    struct log log = log_open(ends[1], LEVEL_WARN, LOG_FORMAT_TEXT);
    log_event(&log, EVENT_CLAIM_HELD, &LOG_SCOPE_NONE, "held");
    log_event(&log, EVENT_STORE_LOST, &LOG_SCOPE_NONE, "lost %d", 1);
    log_event_at(&log, LEVEL_ERROR, EVENT_CLAIM_HELD, &LOG_SCOPE_NONE, "raised");
    read_all(ends[0]);
    assert_string_equal(seen, "leaserun: lost 1\nleaserun: raised\n");
    close(ends[0]);
    close(ends[1]);
}

static void no_terminal__logfmt(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    assert_int_equal(log_open(ends[1], LEVEL_WARN, LOG_FORMAT_AUTO).format, LOG_FORMAT_LOGFMT);
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal >= 0 && isatty(terminal))
        assert_int_equal(log_open(terminal, LEVEL_WARN, LOG_FORMAT_AUTO).format, LOG_FORMAT_TEXT);
    close(terminal);
    close(ends[0]);
    close(ends[1]);
}

static void closed_reader_or_full_disk__goes_on(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    close(ends[0]);
    struct log log = log_open(ends[1], LEVEL_WARN, LOG_FORMAT_TEXT);
    for (int i = 0; i < 3; i++)
        log_event(&log, EVENT_STORE_LOST, &LOG_SCOPE_NONE, "lost");
    close(ends[1]);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    log = log_open(full, LEVEL_WARN, LOG_FORMAT_TEXT);
    log_event(&log, EVENT_STORE_LOST, &LOG_SCOPE_NONE, "lost");
    close(full);
    log_event(&log, EVENT_STORE_LOST, &LOG_SCOPE_NONE, "to a closed descriptor");
}

static void reader_stands_still__waited_for_once_then_told(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    struct log log = log_open(ends[1], LEVEL_WARN, LOG_FORMAT_TEXT);
    fcntl(ends[1], F_SETPIPE_SZ, 16384);
    int64_t begun_ms = now_boot_ms();
    for (int i = 0; i < 2000; i++)
        log_event(&log, EVENT_STORE_LOST, &LOG_SCOPE_NONE, "line number %d of many", i);
    assert_true(now_boot_ms() - begun_ms < 3000);
    assert_true(log.dropped_count > 100);
    read_all(ends[0]);
    assert_true(strstr(seen, "line number 0 of") != NULL);
    log_event(&log, EVENT_STORE_LOST, &LOG_SCOPE_NONE, "read again");
    read_all(ends[0]);
    assert_true(strstr(seen, "lines before this one are lost") != NULL);
    assert_true(strstr(seen, "leaserun: read again\n") != NULL);
    assert_int_equal(log.dropped_count, 0);
    close(ends[0]);
    close(ends[1]);
}

static void *read_slowly(void *fd)
{
    static char bytes[300000];
    size_t count = 0;
    int from = *(int *)fd;
    fcntl(from, F_SETFL, 0);
    for (ssize_t got; (got = read(from, bytes + count, 1000)) > 0;)
        count += (size_t)got;
    bytes[count] = '\0';
    return bytes;
}

static void line_longer_than_the_pipe__whole_while_somebody_reads(void **state)
{
    (void)state;
    int ends[2];
    make_pipe(ends);
    pthread_t reader;
    assert_int_equal(pthread_create(&reader, NULL, read_slowly, &ends[0]), 0);
    struct log log = log_open(ends[1], LEVEL_WARN, LOG_FORMAT_TEXT);
    char *sentence = mem_alloc(200001);
    memset(sentence, 'x', 200000);
    sentence[200000] = '\0';
    log_event(&log, EVENT_STORE_LOST, &LOG_SCOPE_NONE, "%s", sentence);
    close(ends[1]);
    void *bytes;
    pthread_join(reader, &bytes);
    assert_int_equal(strlen(bytes), strlen("leaserun: \n") + 200000);
    assert_int_equal(log.dropped_count, 0);
    free(sentence);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(below_the_level__nothing),
        cmocka_unit_test(no_terminal__logfmt),
        cmocka_unit_test(closed_reader_or_full_disk__goes_on),
        cmocka_unit_test(reader_stands_still__waited_for_once_then_told),
        cmocka_unit_test(line_longer_than_the_pipe__whole_while_somebody_reads),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
