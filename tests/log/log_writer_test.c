/* SPDX-License-Identifier: ISC */
/* The log through a writer, and what a command has written as lines of it. */
#include "check.h"
#include "log/log.h"
#include "log/log_line.h"
#include "loop/pool.h"
#include "loop/writer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT_US INT64_C(1772330400123456)

static void output__in_three_formats__is_one_line(void **state)
{
    static const struct {
        enum log_format format;
        bool continues;
        const char *line;
    } rows[] = {
        {LOG_FORMAT_TEXT, false, "k: stderr: a\\u0000 \"b\"\n"},
        {LOG_FORMAT_TEXT, true, "k: stderr+: a\\u0000 \"b\"\n"},
        {LOG_FORMAT_LOGFMT, true,
         "at=2026-03-01T02:00:00.123456Z level=info event=output job=j key=k fence=7 run_id=r "
         "stream=stderr continues=true msg=\"a\\u0000 \\\"b\\\"\"\n"},
        {LOG_FORMAT_JSON, false,
         "{\"at\":\"2026-03-01T02:00:00.123456Z\",\"level\":\"info\",\"event\":\"output\","
         "\"job\":\"j\",\"key\":\"k\",\"fence\":7,\"run_id\":\"r\",\"stream\":\"stderr\","
         "\"message\":\"a\\u0000 \\\"b\\\"\"}\n"},
        {LOG_FORMAT_JSON, true,
         "{\"at\":\"2026-03-01T02:00:00.123456Z\",\"level\":\"info\",\"event\":\"output\","
         "\"job\":\"j\",\"key\":\"k\",\"fence\":7,\"run_id\":\"r\",\"stream\":\"stderr\","
         "\"continues\":true,\"message\":\"a\\u0000 \\\"b\\\"\"}\n"},
    };
    struct log_scope scope = LOG_SCOPE_NONE;
    scope.job = "j", scope.key = "k", scope.run_id = "r", scope.fence = 7;
    TEXT_AUTODONE struct text line = TEXT_INIT;
    for (size_t i = 0; i < CASE_COUNT(rows); i++) {
        log_line_build_output(&line, rows[i].format, &scope,
                              &(struct log_output){.stream = "stderr",
                                                   .bytes = "a\0 \"b\"",
                                                   .length = 6,
                                                   .continues = rows[i].continues},
                              AT_US);
        assert_string_equal(text_string(&line), rows[i].line);
    }
}

static void on_closed(void *owner, int error)
{
    *(int *)owner = error;
}

static size_t read_line_count(int fd, struct text *ret_all)
{
    char part[65536];
    size_t count = 0;
    for (ssize_t got; (got = read(fd, part, sizeof part)) > 0;) {
        text_add_bytes(ret_all, part, (size_t)got);
        for (ssize_t i = 0; i < got; i++)
            count += part[i] == '\n';
    }
    return count;
}

#define LOST " lines before this one are lost"

/* The lines that say how many are lost, and the sum of what they say. */
static size_t read_losses(const char *text, size_t *ret_sum)
{
    size_t count = 0;
    *ret_sum = 0;
    for (const char *at = text; (at = strstr(at, LOST)) != NULL; at++, count++) {
        const char *number = at;
        while (number > text && number[-1] != ' ')
            number--;
        *ret_sum += strtoul(number, NULL, 10);
    }
    return count;
}

/* What was said while nobody read is bounded; how much of it is missing is said without a further
 * event, and output is never among it. */
static void reader_stands_still__own_lines_are_dropped_and_counted__output_is_not(void **state)
{
    uv_loop_t loop;
    struct error err;
    int ends[2], error = -1;
    TEXT_AUTODONE struct text all = TEXT_INIT;
    SKIP_UNDER_VALGRIND(); /* which runs one thread at a time: the writer's may not come first */
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    assert_true(pool_prepare(2, &err));
    uv_loop_init(&loop);
    struct log log = log_open(ends[1], LEVEL_INFO, LOG_FORMAT_TEXT);
    struct writer *writer = writer_open(&loop, ends[1]);
    log_use_writer(&log, writer);
    int said_count = 0, output_count = 0;
    for (; log.dropped_count < 100; said_count++) {
        log_event(&log, EVENT_STORE_LOST, &LOG_SCOPE_NONE, "%01000d", said_count);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    for (; output_count < 10; output_count++)
        log_output(&log, &LOG_SCOPE_NONE,
                   &(struct log_output){.stream = "stdout", .bytes = "out", .length = 3});
    /* lines of a good 1,000 bytes, and what the pipe takes */
    assert_in_range(said_count, WRITER_MOST / 1100, WRITER_MOST / 1000 + 200);
    size_t lines = 0;
    for (int turns = 0; turns < 2000 && strstr(text_string(&all), "100" LOST) == NULL; turns++) {
        lines += read_line_count(ends[0], &all);
        uv_run(&loop, UV_RUN_NOWAIT);
        usleep(1000);
    }
    log_use_writer(&log, NULL);
    writer_close(writer, 1000, on_closed, &error);
    uv_run(&loop, UV_RUN_DEFAULT);
    close(ends[1]);
    lines += read_line_count(ends[0], &all);
    close(ends[0]);
    assert_int_equal(error, 0);
    size_t sum, losses = read_losses(all.bytes, &sum);
    assert_in_range(losses, 1, 2); /* two where the writer began only when its room was full */
    assert_int_equal(lines, (size_t)(said_count + output_count) - sum + losses);
    assert_non_null(strstr(all.bytes, "leaserun: 100" LOST));
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void tail__of_a_run__stands_with_its_end(void **state)
{
    struct log_scope scope = LOG_SCOPE_NONE;
    scope.tail = "a\0\n";
    scope.tail_length = 3;
    TEXT_AUTODONE struct text line = TEXT_INIT;
    log_line_build(&line, LOG_FORMAT_LOGFMT, LEVEL_WARN, EVENT_RUN_FAILED, &scope, "failed", AT_US);
    assert_string_equal(text_string(&line),
                        "at=2026-03-01T02:00:00.123456Z level=warn event=run_failed "
                        "output_tail=\"a\\u0000\\n\" msg=failed\n");
    log_line_build(&line, LOG_FORMAT_TEXT, LEVEL_WARN, EVENT_RUN_FAILED, &scope, "failed", AT_US);
    assert_string_equal(text_string(&line), "leaserun: failed; its last output: a\\u0000\\n\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output__in_three_formats__is_one_line),
        cmocka_unit_test(reader_stands_still__own_lines_are_dropped_and_counted__output_is_not),
        cmocka_unit_test(tail__of_a_run__stands_with_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
