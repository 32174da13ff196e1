/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "check.h"
#include "conf/store_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "store_choice_test.XXXXXX";

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

static void write_file(const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    chmod(path, mode);
}

static int forget_environment(void **state)
{
    (void)state;
    unsetenv("LEASERUN_STORE");
    unsetenv("LEASERUN_STORE_FILE");
    return 0;
}

static void expect_choice(const struct config *config, const char *url, const char *source)
{
    struct store_config store;
    struct error error = {0};
    char *told = NULL;
    if (!store_choice_make(config, &store, &told, &error))
        fail_msg("%s", error.text);
    assert_string_equal(store.url, url);
    assert_string_equal(store.schema, "leaserun");
    assert_string_equal(told, source);
    free(told);
    store_config_done(&store);
}

static void expect_fault(const struct config *config, enum error_kind kind, const char *said)
{
    struct store_config store;
    struct error error = {0};
    assert_false(store_choice_make(config, &store, NULL, &error));
    assert_int_equal(error.kind, kind);
    if (strstr(error.text, said) == NULL || strstr(error.text, "s3cret") != NULL)
        fail_msg("%s", error.text);
}

static void first_that_is_given_counts(void **state)
{
    (void)state;
    struct config config;
    config_init(&config);
    assert_false(store_choice_is_named(&config));
    expect_fault(&config, ERROR_CONFIG, "--local");
    config.store_url = mem_strdup("postgresql:///from-ini");
    config.store_file = mem_strdup("jobs.ini");
    expect_choice(&config, "postgresql:///from-ini", "url in [store] of jobs.ini");
    write_file("postgresql:///from-file\nmore\n", 0600);
    setenv("LEASERUN_STORE_FILE", path, 1);
    expect_choice(&config, "postgresql:///from-file", "LEASERUN_STORE_FILE");
    setenv("LEASERUN_STORE", "postgresql:///from-environment", 1);
    expect_choice(&config, "postgresql:///from-environment", "LEASERUN_STORE");
    config.store_option = mem_strdup("postgresql:///from-option");
    expect_choice(&config, "postgresql:///from-option", "--store");
    config.is_local = true;
    expect_fault(&config, ERROR_USAGE, "--local");
    config_done(&config);
}

static void none__names_every_way(void **state)
{
    static const char *const ways[] = {"--store",  "LEASERUN_STORE", "LEASERUN_STORE_FILE",
                                       "url-file", "[store]",        "--local"};
    (void)state;
    struct config config;
    config_init(&config);
    setenv("LEASERUN_STORE", "", 1);
    for (size_t i = 0; i < CASE_COUNT(ways); i++)
        expect_fault(&config, ERROR_CONFIG, ways[i]);
    config_done(&config);
}

static void password_in_an_option__refused_unread(void **state)
{
    (void)state;
    struct config config;
    config_init(&config);
    config.store_option = mem_strdup("postgresql://u:s3cret@h/d");
    expect_fault(&config, ERROR_USAGE, "LEASERUN_STORE_FILE");
    config_done(&config);
}

static void url_file__first_line_and_its_faults(void **state)
{
    (void)state;
    struct config config;
    config_init(&config);
    config.store_url_file = mem_strdup(path);
    config.store_file = mem_strdup("jobs.ini");
    write_file("postgresql://u:s3cret@h/d\r\n", 0600);
    expect_choice(&config, "postgresql://u:s3cret@h/d", "url-file in [store] of jobs.ini");
    write_file("postgresql://u:s3cret@h/d\n", 0644);
    expect_fault(&config, ERROR_CONFIG, "every user");
    write_file("postgresql://u@h/d", 0644);
    expect_choice(&config, "postgresql://u@h/d", "url-file in [store] of jobs.ini");
    write_file("", 0600);
    expect_fault(&config, ERROR_CONFIG, "first line");
    write_file("\npostgresql://u@h/d\n", 0600);
    expect_fault(&config, ERROR_CONFIG, "first line");
    free(config.store_url_file);
    config.store_url_file = mem_strdup("no/such/file");
    expect_fault(&config, ERROR_CONFIG, "no/such/file");
    config_done(&config);
}

static void local__a_file_of_ours(void **state)
{
    (void)state;
    struct error error;
    setenv("XDG_STATE_HOME", "/state", 1);
    char *file = store_choice_local_path(&error);
    assert_string_equal(file, geteuid() == 0 ? "/var/lib/leaserun/leaserun.db"
                                             : "/state/leaserun/leaserun.db");
    free(file);
    struct config config;
    config_init(&config);
    config.is_local = true;
    expect_choice(&config,
                  geteuid() == 0 ? "sqlite:/var/lib/leaserun/leaserun.db"
                                 : "sqlite:/state/leaserun/leaserun.db",
                  "--local");
    config_done(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(first_that_is_given_counts, forget_environment),
        cmocka_unit_test_setup(none__names_every_way, forget_environment),
        cmocka_unit_test_setup(password_in_an_option__refused_unread, forget_environment),
        cmocka_unit_test_setup(url_file__first_line_and_its_faults, forget_environment),
        cmocka_unit_test_setup(local__a_file_of_ours, forget_environment),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
