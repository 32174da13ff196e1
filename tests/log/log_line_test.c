/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "log/log_line.h"

#include <string.h>

#define AT_US INT64_C(1772330400123456) /* 2026-03-01T02:00:00.123456Z */

static struct text line;

static const char *build(enum log_format format, enum event event, const struct log_scope *scope,
                         const char *sentence)
{
    log_line_build(&line, format, events[event].level, event, scope, sentence, AT_US);
    return text_string(&line);
}

static int forget_line(void **state)
{
    (void)state;
    text_done(&line);
    return 0;
}

static struct error some_error(const char *text, const char *sqlstate)
{
    struct error error;
    error_set(&error, ERROR_STORE, "%s", text);
    memcpy(error.sqlstate, sqlstate, strlen(sqlstate) + 1);
    return error;
}

static void no_scope__head_and_message_only(void **state)
{
    (void)state;
    const struct log_scope none = LOG_SCOPE_NONE;
    assert_string_equal(build(LOG_FORMAT_TEXT, EVENT_STORE_RESTORED, &none, "back again"),
                        "leaserun: back again\n");
    assert_string_equal(build(LOG_FORMAT_LOGFMT, EVENT_STORE_RESTORED, &none, "back again"),
                        "at=2026-03-01T02:00:00.123456Z level=info event=store_restored "
                        "msg=\"back again\"\n");
    assert_string_equal(build(LOG_FORMAT_JSON, EVENT_STORE_RESTORED, &none, "back again"),
                        "{\"at\":\"2026-03-01T02:00:00.123456Z\",\"level\":\"info\","
                        "\"event\":\"store_restored\",\"message\":\"back again\"}\n");
}

static void whole_scope__every_field_in_order(void **state)
{
    (void)state;
    struct error error = some_error("no answer", "57P01");
    const struct log_scope scope = {
        .job = "report",
        .key = "nightly",
        .run_id = "0a1b",
        .holder = "db1/77/ffee",
        .fence = 12,
        .slot_us = INT64_C(1772330400000000),
        .streak = 3,
        .outcome = "failed",
        .status = 0,
        .took_ms = 0,
        .error = &error,
    };
    assert_string_equal(
        build(LOG_FORMAT_JSON, EVENT_RUN_FAILED, &scope, "it ended"),
        "{\"at\":\"2026-03-01T02:00:00.123456Z\",\"level\":\"error\",\"event\":\"run_failed\","
        "\"message\":\"it ended\",\"job\":\"report\",\"key\":\"nightly\","
        "\"slot\":\"2026-03-01T02:00:00Z\",\"fence\":12,\"run_id\":\"0a1b\","
        "\"holder\":\"db1/77/ffee\",\"streak\":3,\"outcome\":\"failed\",\"status\":0,"
        "\"took_ms\":0,\"error\":\"no answer\",\"sqlstate\":\"57P01\"}\n");
    assert_string_equal(
        build(LOG_FORMAT_LOGFMT, EVENT_RUN_FAILED, &scope, "it ended"),
        "at=2026-03-01T02:00:00.123456Z level=error event=run_failed job=report key=nightly "
        "slot=2026-03-01T02:00:00Z fence=12 run_id=0a1b holder=db1/77/ffee streak=3 "
        "outcome=failed status=0 took_ms=0 msg=\"it ended\" error=\"no answer\" sqlstate=57P01\n");
    assert_string_equal(build(LOG_FORMAT_TEXT, EVENT_RUN_FAILED, &scope, "it ended"),
                        "leaserun: nightly: it ended: no answer (SQLSTATE 57P01)\n");
}

static void text__tells_the_error_once(void **state)
{
    (void)state;
    struct error error = some_error("no answer (57P01)", "57P01");
    struct log_scope scope = LOG_SCOPE_NONE;
    scope.error = &error;
    assert_string_equal(build(LOG_FORMAT_TEXT, EVENT_STORE_LOST, &scope, "lost"),
                        "leaserun: lost: no answer (57P01)\n");
    assert_string_equal(
        build(LOG_FORMAT_TEXT, EVENT_STORE_LOST, &scope, "lost, since no answer (57P01) came"),
        "leaserun: lost, since no answer (57P01) came\n");
}

static void hostile_bytes__one_line_in_every_format(void **state)
{
    (void)state;
    static const enum log_format formats[] = {LOG_FORMAT_TEXT, LOG_FORMAT_LOGFMT, LOG_FORMAT_JSON};
    struct error error = some_error("quote \" and \xff", "");
    struct log_scope scope = LOG_SCOPE_NONE;
    scope.key = "a\nlevel=error event=faked\x1b[2J\"}";
    scope.error = &error;
    for (size_t i = 0; i < CASE_COUNT(formats); i++) {
        const char *built = build(formats[i], EVENT_STORE_LOST, &scope, "x\r\ny\x07");
        assert_int_equal(strcspn(built, "\n"), strlen(built) - 1);
        assert_null(strchr(built, '\x1b'));
        assert_null(strchr(built, '\x07'));
        assert_null(strchr(built, '\xff'));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_scope__head_and_message_only),
        cmocka_unit_test(whole_scope__every_field_in_order),
        cmocka_unit_test(text__tells_the_error_once),
        cmocka_unit_test(hostile_bytes__one_line_in_every_format),
    };
    return cmocka_run_group_tests(tests, NULL, forget_line);
}
