/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "cli/commands.h"
#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 32

static bool parse(const char *const *words, struct options *options, struct error *error)
{
    static char *argv[WORDS_MAX + 2];
    int argc = 0;
    argv[argc++] = (char[]){"leaserun"};
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    argv[argc] = NULL;
    *error = (struct error){0};
    return options_parse(argc, argv, options, error);
}

#define PARSE(options, error, ...) parse((const char *const[]){__VA_ARGS__, NULL}, options, error)

static void run__options_key_and_the_command_untouched(void **state)
{
    (void)state;
    struct options options;
    struct error error;
    assert_true(PARSE(&options, &error, "run", "--ttl", "10s", "--once", "--wait=forever",
                      "--once-per", "hour", "--held-exit", "0", "--dry-run", "cl\xc3\xa9 1", "--",
                      "printf", "--ttl", "-v", "--", ""));
    assert_int_equal(options.config.job.ttl_ms, 10000);
    assert_int_equal(options.config.job.wait_ms, JOB_WAIT_FOREVER);
    assert_int_equal(options.config.job.once_per, ONCE_PER_HOUR);
    assert_int_equal(options.config.job.held_exit, 0);
    assert_true(options.config.job.is_once);
    assert_true(options.is_dry_run);
    assert_string_equal(options.config.job.key, "cl\xc3\xa9 1");
    assert_string_equal(options.argv[0], "printf");
    assert_string_equal(options.argv[1], "--ttl");
    assert_string_equal(options.argv[3], "--");
    assert_string_equal(options.argv[4], "");
    assert_null(options.argv[5]);
    options_done(&options);
}

static const struct {
    const char *words[8];
    const char *said;
} bad[] = {
    {{"ran"}, "did you mean leaserun run?"},
    {{"xyzzy"}, "leaserun help"},
    {{"--ttl", "5s"}, "leaserun run --ttl"},
    {{"run"}, "needs a key"},
    {{"run", "--ttl", "9s"}, "needs a key"},
    {{"run", "--", "true"}, "key is missing"},
    {{"run", "--", "true", "--", "true"}, "key is missing"},
    {{"run", "--", "-k"}, "key is missing"},
    {{"run", "k b"}, "leaserun run k b -- COMMAND"},
    {{"run", "k", "true"}, "leaserun run k -- true"},
    {{"run", "k", "--once", "--", "true"}, "--once stands behind the key"},
    {{"run", "k", "--"}, "command is missing"},
    {{"run", "k", "--", ""}, "empty word"},
    {{"run", "", "--", "true"}, "key is empty"},
    {{"run", "a\nb", "--", "true"}, "newline"},
    {{"run", "a\xff", "--", "true"}, "UTF-8"},
    {{"run", "--tt", "5s", "k", "--", "true"}, "did you mean --ttl?"},
    {{"run", "--tim", "5s", "k", "--", "true"}, "did you mean --timeout?"},
    {{"run", "--lo", "k", "--", "true"}, "no option --lo"},
    {{"run", "--json", "k", "--", "true"}, "run has no option --json"},
    {{"run", "-x", "k", "--", "true"}, "no option -x"},
    {{"run", "--once=yes", "k", "--", "true"}, "--once takes no value"},
    {{"run", "--ttl"}, "--ttl needs a value: --ttl DURATION"},
    {{"run", "--ttl", "1s", "k", "--", "true"}, "--ttl: the least possible is 5s"},
    {{"run", "--held-exit", "600", "k", "--", "true"}, "--held-exit: the most possible is 255"},
    {{"run", "--held-exit", "-1", "k", "--", "true"}, "--held-exit"},
    {{"run", "--held-exit", "abc", "k", "--", "true"}, "--held-exit"},
    {{"run", "--store", "", "k", "--", "true"}, "--store: the value is empty"},
    {{"status", "a", "b"}, "\"b\" is one word too many: leaserun status [options] [KEY]"},
    {{"status", "--jsn"}, "did you mean --json?"},
    {{"history", "--limit", "0"}, "least possible is 1"},
    {{"release"}, "leaserun release [options] KEY"},
    {{"purge", "x"}, "one word too many"},
};

static void bad_words__usage_and_a_sentence_that_helps(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(bad); i++) {
        struct options options;
        struct error error;
        if (parse(bad[i].words, &options, &error) || error.kind != ERROR_USAGE ||
            strstr(error.text, bad[i].said) == NULL)
            fail_msg("%s %s: %s", bad[i].words[0], bad[i].words[1], error.text);
        options_done(&options);
    }
}

static void name_without_a_command__a_job_of_the_table(void **state)
{
    (void)state;
    struct options options;
    struct error error;
    assert_true(PARSE(&options, &error, "run", "--once", "nightly-report.v2"));
    assert_string_equal(options.operands[0], "nightly-report.v2");
    assert_null(options.argv);
    assert_null(options.config.job.key);
    options_done(&options);
}

static void key_that_looks_like_an_option__stands_between_two_dashes(void **state)
{
    (void)state;
    static const char *const keys[] = {"-k", "--ttl", "--"};
    for (size_t i = 0; i < CASE_COUNT(keys); i++) {
        struct options options;
        struct error error;
        assert_true(PARSE(&options, &error, "run", "--once", "--", keys[i], "--", "env", "-i"));
        assert_string_equal(options.config.job.key, keys[i]);
        assert_string_equal(options.argv[0], "env");
        assert_string_equal(options.argv[1], "-i");
        options_done(&options);
    }
}

static void others__options_before_and_behind_the_operands(void **state)
{
    (void)state;
    struct options options;
    struct error error;
    assert_true(PARSE(&options, &error, "release", "k", "--stop"));
    assert_string_equal(options.operands[0], "k");
    assert_true(options.is_stop);
    assert_int_equal(options.store_fd, -1);
    options_done(&options);
    assert_true(PARSE(&options, &error, "release", "--store-fd", "7", "--holder", "h/1/x", "--",
                      "--odd-key"));
    assert_int_equal(options.store_fd, 7);
    assert_string_equal(options.holder, "h/1/x");
    assert_string_equal(options.operands[0], "--odd-key");
    options_done(&options);
    setenv("POSIXLY_CORRECT", "1", 1);
    assert_true(PARSE(&options, &error, "history", "k", "--limit", "3", "--json"));
    unsetenv("POSIXLY_CORRECT");
    assert_int_equal(options.limit_count, 3);
    assert_true(options.is_json);
    options_done(&options);
    assert_true(PARSE(&options, &error, "check", "a", "b", "c"));
    assert_int_equal(options.operand_count, 3);
    options_done(&options);
    assert_true(PARSE(&options, &error, "purge"));
    assert_int_equal(options.retention_ms, 86400000);
    options_done(&options);
}

static void help_and_version__need_nothing_else(void **state)
{
    (void)state;
    struct options options;
    struct error error;
    assert_true(PARSE(&options, &error, "--version"));
    assert_true(options.is_version_wanted);
    options_done(&options);
    assert_true(PARSE(&options, &error, "run", "--help"));
    assert_true(options.is_help_wanted);
    assert_string_equal(options.command->name, "run");
    options_done(&options);
    assert_true(PARSE(&options, &error, "release", "-h"));
    assert_true(options.is_help_wanted);
    options_done(&options);
}

static void settle__options_over_the_file_over_the_defaults(void **state)
{
    (void)state;
    char path[] = "options_test.XXXXXX";
    int fd = mkstemp(path);
    static const char text[] = "[store]\nschema = s1\n[defaults]\nttl = 20s\ngrace = 7s\n";
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    struct options options;
    struct error error;
    struct ini_faults faults = {0};
    assert_true(
        PARSE(&options, &error, "run", "--config", path, "--ttl", "30s", "k", "--", "true"));
    assert_true(options_settle(&options, &faults));
    assert_int_equal(options.config.job.ttl_ms, 30000);
    assert_int_equal(options.config.job.grace_ms, 7000);
    assert_int_equal(options.config.job.held_exit, 75);
    assert_string_equal(options.config.schema, "s1");
    options_done(&options);
    unlink(path);
    assert_true(PARSE(&options, &error, "run", "--config", path, "k", "--", "true"));
    assert_false(options_settle(&options, &faults));
    assert_int_equal(faults.count, 1);
    options_done(&options);
    ini_faults_done(&faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run__options_key_and_the_command_untouched),
        cmocka_unit_test(bad_words__usage_and_a_sentence_that_helps),
        cmocka_unit_test(name_without_a_command__a_job_of_the_table),
        cmocka_unit_test(key_that_looks_like_an_option__stands_between_two_dashes),
        cmocka_unit_test(others__options_before_and_behind_the_operands),
        cmocka_unit_test(help_and_version__need_nothing_else),
        cmocka_unit_test(settle__options_over_the_file_over_the_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
