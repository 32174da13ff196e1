/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "command/command_environment.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *const own[] = {"A=own",
                            "LEASERUN_STORE=secret",
                            "LEASERUN_STORE_FILE=secret",
                            "LEASERUN_STORED=no secret",
                            "A=twice",
                            NULL};

static void check_words(const struct command_environment *environment, const char *expected)
{
    char all[512] = "";
    for (size_t i = 0; i < environment->count; i++) {
        strcat(all, environment->words[i]);
        strcat(all, "|");
    }
    assert_string_equal(all, expected);
    assert_null(environment->words[environment->count]);
}

static void own__comes_as_it_is_but_for_what_names_the_store(void **state)
{
    struct command_environment environment = {0};
    command_environment_put_own(&environment, own);
    check_words(&environment, "A=own|LEASERUN_STORED=no secret|A=twice|");
    command_environment_done(&environment);
}

static void words__take_the_place_of_the_same_name_and_of_no_other(void **state)
{
    struct error err;
    static char *const few[] = {"NAME=1", "NAMES=2", NULL};
    struct command_environment environment = {0};
    command_environment_put_own(&environment, few);
    assert_true(command_environment_put_words(&environment, "NAME='a b' OTHER= NAME=c", &err));
    check_words(&environment, "NAME=c|NAMES=2|OTHER=|");
    command_environment_done(&environment);
}

static void variable__takes_the_place_of_all_of_its_name__or_leaves_none(void **state)
{
    struct command_environment environment = {0};
    command_environment_put_variable(&environment, "A", NULL);
    command_environment_put_own(&environment, own);
    command_environment_put_variable(&environment, "A", "new");
    command_environment_put_variable(&environment, "LEASERUN",
                                     "="); /* of no other that begins so */
    check_words(&environment, "LEASERUN_STORED=no secret|A=new|LEASERUN==|");
    command_environment_put_variable(&environment, "A", NULL);
    check_words(&environment, "LEASERUN_STORED=no secret|LEASERUN==|");
    command_environment_done(&environment);
}

static void words__that_are_none__are_refused(void **state)
{
    static const char *const wrong[] = {"A", "=x", "1A=x", "A-B=x", "'A=x"};
    for (size_t i = 0; i < CASE_COUNT(wrong); i++) {
        struct error err;
        struct command_environment environment = {0};
        assert_false(command_environment_put_words(&environment, wrong[i], &err));
        assert_int_equal(err.kind, ERROR_CONFIG);
        command_environment_done(&environment);
    }
}

static bool put_file(struct command_environment *environment, const char *bytes, size_t count,
                     struct error *err)
{
    char path[] = "/tmp/environment-test.XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, bytes, count), (ssize_t)count);
    close(fd);
    bool is_good = command_environment_put_file(environment, path, err);
    unlink(path);
    return is_good;
}

static void file__gives_its_lines_with_everything_behind_the_equals_sign(void **state)
{
    static const char text[] = "# a comment\n\n  A=1\r\nB= 'x' # y \nC==";
    struct error err;
    struct command_environment environment = {0};
    assert_true(put_file(&environment, text, sizeof text - 1, &err));
    check_words(&environment, "A=1|B= 'x' # y |C==|");
    command_environment_done(&environment);
}

static void file__with_a_fault__names_it(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *sentence;
    } rows[] = {
        {"A=1\nB\n", 6, ":2: this is not NAME=VALUE"},
        {"A=1\0B=2\n", 8, "has a NUL in it"},
        {"export A=1\n", 11, ":1: this is not"},
    };
    for (size_t i = 0; i < CASE_COUNT(rows); i++) {
        struct error err;
        struct command_environment environment = {0};
        assert_false(put_file(&environment, rows[i].bytes, rows[i].count, &err));
        assert_non_null(strstr(err.text, rows[i].sentence));
        command_environment_done(&environment);
    }
}

static void file__that_is_none_or_too_long__is_refused(void **state)
{
    struct error err;
    struct command_environment environment = {0};
    char *big = test_calloc(1, 200000);
    memset(big, '#', 200000);
    assert_false(command_environment_put_file(&environment, "/tmp", &err));
    assert_string_equal(err.text, "env-file /tmp is not a file");
    assert_false(put_file(&environment, big, 200000, &err));
    assert_non_null(strstr(err.text, "has more than 128 KiB"));
    test_free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own__comes_as_it_is_but_for_what_names_the_store),
        cmocka_unit_test(words__take_the_place_of_the_same_name_and_of_no_other),
        cmocka_unit_test(variable__takes_the_place_of_all_of_its_name__or_leaves_none),
        cmocka_unit_test(words__that_are_none__are_refused),
        cmocka_unit_test(file__gives_its_lines_with_everything_behind_the_equals_sign),
        cmocka_unit_test(file__with_a_fault__names_it),
        cmocka_unit_test(file__that_is_none_or_too_long__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
