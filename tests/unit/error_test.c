/* SPDX-License-Identifier: ISC */
#include "base/error.h"
#include "base/exit_code.h"
#include "check.h"

#include <errno.h>
#include <string.h>

static void error__set__reports_and_fails_in_one_line(void **state)
{
    struct error err = {.sqlstate = "57P01"};
    assert_false(error_set(&err, ERROR_CONFIG, "%s:%d: no command", "jobs.ini", 7));
    assert_int_equal(err.kind, ERROR_CONFIG);
    assert_string_equal(err.text, "jobs.ini:7: no command");
    assert_string_equal(err.sqlstate, ""); /* of another fault */
}

static void error__errno__is_named_at_the_end(void **state)
{
    struct error err = {0};
    assert_false(error_set_errno(&err, ERROR_SYSTEM, ENOENT, "cannot open %s", "/etc/x"));
    assert_string_equal(err.text, "cannot open /etc/x: No such file or directory");
}

static void error__prefixed__keeps_kind_state_and_sentence(void **state)
{
    struct error err = {.kind = ERROR_STORE, .sqlstate = "08006", .text = "no answer"};
    assert_false(error_prefix(&err, "host %s", "db1"));
    assert_string_equal(err.text, "host db1: no answer");
    assert_int_equal(err.kind, ERROR_STORE);
    assert_string_equal(err.sqlstate, "08006");
}

static void error__too_long__ends_in_three_dots(void **state)
{
    struct error err = {0};
    error_set(&err, ERROR_SYSTEM, "%02000d", 1);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_string_equal(err.text + sizeof err.text - 4, "...");
    error_prefix(&err, "more");
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_memory_equal(err.text, "more: 000", 9);
    assert_string_equal(err.text + sizeof err.text - 4, "...");
    error_set_errno(&err, ERROR_SYSTEM, EACCES, "%02000d", 1);
    assert_string_equal(err.text + sizeof err.text - 4, "...");
}

static void error__foreign_text__becomes_one_line(void **state)
{
    static const struct {
        const char *before, *after;
    } table[] = {
        {"", ""},
        {"one line", "one line"},
        {"FATAL:  no\n\tHINT: try\r\n", "FATAL: no HINT: try"},
        {"\n\n  leading", "leading"},
        {"bell\a and\x1b[31m red\x7f", "bell and [31m red"},
        {"caf\xc3\xa9\n", "caf\xc3\xa9"},
    };
    for (size_t i = 0; i < CASE_COUNT(table); i++) {
        struct error err;
        error_set(&err, ERROR_STORE, "%s", table[i].before);
        assert_string_equal(err.text, table[i].after);
    }
}

static void error__every_kind__has_an_exit_status(void **state)
{
    static const struct {
        enum error_kind kind;
        int status;
    } table[] = {
        {ERROR_NONE, 0},    {ERROR_USAGE, 64},  {ERROR_STORE, 69},
        {ERROR_SYSTEM, 71}, {ERROR_OUTPUT, 74}, {ERROR_CONFIG, 78},
    };
    for (size_t i = 0; i < CASE_COUNT(table); i++)
        assert_int_equal(exit_code_of_error(table[i].kind), table[i].status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error__set__reports_and_fails_in_one_line),
        cmocka_unit_test(error__errno__is_named_at_the_end),
        cmocka_unit_test(error__prefixed__keeps_kind_state_and_sentence),
        cmocka_unit_test(error__too_long__ends_in_three_dots),
        cmocka_unit_test(error__foreign_text__becomes_one_line),
        cmocka_unit_test(error__every_kind__has_an_exit_status),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
