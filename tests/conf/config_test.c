/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "conf/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "config_test.XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static bool read_text(const char *text, mode_t mode, struct config *ret_config,
                      struct ini_faults *ret_faults)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    chmod(path, mode);
    *ret_faults = (struct ini_faults){0};
    config_init(ret_config);
    return config_read(ret_config, path, true, ret_faults);
}

static void done(struct config *config, struct ini_faults *faults)
{
    config_done(config);
    ini_faults_done(faults);
}

static void every_section__is_taken_over_the_defaults(void **state)
{
    (void)state;
    struct config config;
    struct ini_faults faults;
    assert_true(read_text("[store]\nurl = postgresql:///app\nschema = Other \"Name\"\n"
                          "[log]\nlevel = debug\nformat = json\n"
                          "[defaults]\nttl = 30s\nwait = forever\nheld-exit = 0\n"
                          "leftovers = leave\ngrace = 1m\nstart-within = 0\n",
                          0644, &config, &faults));
    assert_string_equal(config.store_url, "postgresql:///app");
    assert_string_equal(config.schema, "Other \"Name\"");
    assert_int_equal(config.log_level, LEVEL_DEBUG);
    assert_int_equal(config.log_format, LOG_FORMAT_JSON);
    assert_int_equal(config.job.ttl_ms, 30000);
    assert_int_equal(config.job.wait_ms, JOB_WAIT_FOREVER);
    assert_int_equal(config.job.held_exit, 0);
    assert_int_equal(config.job.leftovers, GUARD_LEFTOVERS_LEAVE);
    assert_int_equal(config.job.grace_ms, 60000);
    assert_int_equal(config.job.start_within_ms, 0);
    assert_int_equal(config.job.timeout_ms, 0);
    done(&config, &faults);
}

static const struct {
    const char *what;
    const char *text;
    mode_t mode;
    int line;
    const char *said;
} bad[] = {
    {"unknown section", "[stroe]\nurl = x\n", 0644, 1, "did you mean [store]"},
    {"job without name", "[store]\nurl = x\n[job]\nschedule = @daily\n", 0644, 3,
     "did you mean [job NAME]"},
    {"section with a name", "[defaults nightly]\nttl = 5s\n", 0644, 1, "did you mean [defaults]"},
    {"later section", "[http]\nlisten = :80\n", 0644, 1, "no section [http]"},
    {"unknown key", "[defaults]\ntime-out = 5s\n", 0644, 2, "did you mean timeout"},
    {"key of another section", "[log]\nttl = 5s\n", 0644, 2,
     "[log] has no key \"ttl\": it belongs to [defaults]"},
    {"option that is no key", "[defaults]\nonce = yes\n", 0644, 2, "no key \"once\""},
    {"value without unit", "[defaults]\n\nttl = 90\n", 0644, 3, "ttl: \"90\" has no unit"},
    {"value too small", "[defaults]\nttl = 1s\n", 0644, 2, "ttl: the least possible is 5s"},
    {"url and url-file", "[store]\nurl = postgresql:///a\nurl-file = /x\n", 0644, 3,
     "beside url in line 2"},
    {"password for all", "[store]\nurl = postgresql://a:s3cret@b/c\n", 0644, 2, "every user"},
};

static void faults__are_told_with_their_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(bad); i++) {
        struct config config;
        struct ini_faults faults;
        assert_false(read_text(bad[i].text, bad[i].mode, &config, &faults));
        if (faults.count != 1 || faults.faults[0].line != bad[i].line ||
            strstr(faults.faults[0].text, bad[i].said) == NULL)
            fail_msg("%s: %zu faults, line %d: %s", bad[i].what, faults.count,
                     faults.faults[0].line, faults.faults[0].text);
        assert_null(strstr(faults.faults[0].text, "s3cret"));
        done(&config, &faults);
    }
}

static void jobs__are_left_to_those_who_run_them(void **state)
{
    (void)state;
    struct config config;
    struct ini_faults faults;
    assert_true(
        read_text("[job nightly]\nno-key = x\n[defaults]\nttl = 10s\n", 0644, &config, &faults));
    assert_int_equal(config.job.ttl_ms, 10000);
    done(&config, &faults);
}

static void faults_of_text_and_values__in_one_go_by_line(void **state)
{
    static const int lines[] = {2, 3, 4, 6};
    (void)state;
    struct config config;
    struct ini_faults faults;
    assert_false(read_text("[log]\nlevel = loud\n indented\nformat = xml\n[defaults]\nttl = 1\n",
                           0644, &config, &faults));
    assert_int_equal(faults.count, CASE_COUNT(lines));
    for (size_t i = 0; i < CASE_COUNT(lines); i++)
        assert_int_equal(faults.faults[i].line, lines[i]);
    done(&config, &faults);
}

static void password_in_a_private_file__is_taken(void **state)
{
    (void)state;
    struct config config;
    struct ini_faults faults;
    assert_true(read_text("[store]\nurl = postgresql://a:s3cret@b/c\n", 0640, &config, &faults));
    assert_string_equal(config.store_url, "postgresql://a:s3cret@b/c");
    done(&config, &faults);
}

static void missing_default_file__no_fault(void **state)
{
    (void)state;
    struct config config;
    struct ini_faults faults = {0};
    config_init(&config);
    assert_true(config_read(&config, "no/such/file", false, &faults));
    assert_false(config_read(&config, "no/such/file", true, &faults));
    assert_int_equal(faults.count, 1);
    done(&config, &faults);
}

static void quiet__errors_only_whatever_the_level(void **state)
{
    (void)state;
    struct config config;
    config_init(&config);
    config.log_level = LEVEL_DEBUG;
    assert_int_equal(config_open_log(&config).least, LEVEL_DEBUG);
    config.is_quiet = true;
    assert_int_equal(config_open_log(&config).least, LEVEL_ERROR);
    config_done(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_section__is_taken_over_the_defaults),
        cmocka_unit_test(faults__are_told_with_their_line),
        cmocka_unit_test(jobs__are_left_to_those_who_run_them),
        cmocka_unit_test(faults_of_text_and_values__in_one_go_by_line),
        cmocka_unit_test(password_in_a_private_file__is_taken),
        cmocka_unit_test(missing_default_file__no_fault),
        cmocka_unit_test(quiet__errors_only_whatever_the_level),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
