/* SPDX-License-Identifier: ISC */
#include "base/text.h"
#include "check.h"
#include "conf/config.h"
#include "conf/settings.h"

#include <ctype.h>
#include <string.h>

static int count_sections_that_tell_of(const struct setting *row)
{
    int count = 0;
    for (const struct setting_section *section = settings_sections; section->name; section++) {
        if ((section->told & SETTING_MASK(row->group)) == 0)
            continue;
        assert_ptr_equal(settings_find_key(section, row->key), row);
        count++;
    }
    return count;
}

static void every_row__is_whole(void **state)
{
    (void)state;
    const struct setting *row = NULL;
    while ((row = settings_next(row)) != NULL) {
        const char *name = row->option == NULL ? row->key : row->option;
        assert_non_null(name);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz-"), strlen(name));
        assert_non_null(row->help);
        assert_true(islower((unsigned char)row->help[0]));
        assert_int_not_equal(row->help[strlen(row->help) - 1], '.');
        assert_int_equal(row->argument == NULL, row->type == SETTING_SWITCH);
        assert_int_equal(row->choices != NULL, row->type == SETTING_CHOICE);
        if (row->manual != NULL)
            assert_int_equal(row->manual[strlen(row->manual) - 1], '.');
        if (row->key != NULL) {
            assert_true(row->initial != NULL || row->example != NULL);
            assert_int_equal(count_sections_that_tell_of(row), 1);
        }
    }
}

static const struct setting *find_option(const char *name)
{
    const struct setting *setting = NULL;
    while ((setting = settings_next(setting)) != NULL)
        if (setting->option != NULL && strcmp(setting->option, name) == 0)
            return setting;
    fail_msg("there is no option %s", name);
    return NULL;
}

static const struct {
    const char *option;
    const char *value;
    const char *said; /* NULL: it fits */
} values[] = {
    {"ttl", "5s", NULL},
    {"ttl", "4999ms", "least possible is 5s"},
    {"ttl", "1w", NULL},
    {"ttl", "8d", "most possible is 1w"},
    {"ttl", "0", "least possible"},
    {"wait", "0", NULL},
    {"wait", "forever", NULL},
    {"ttl", "forever", "units"},
    {"start-within", "auto", NULL},
    {"start-within", "0", NULL},
    {"held-exit", "0", NULL},
    {"held-exit", "255", NULL},
    {"held-exit", "256", "255"},
    {"held-exit", "600", "255"},
    {"held-exit", "-1", "digits"},
    {"held-exit", "abc", "digits"},
    {"timeout", "0", NULL},
    {"timeout", "", "empty"},
    {"timeout", "-5", "negative"},
    {"once-per", "hour", NULL},
    {"once-per", "week", "minute, hour or day"},
    {"leftovers", "kil", "did you mean kill"},
};

static void values__fit_or_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(values); i++) {
        struct job job = {0};
        struct error error = {0};
        bool is_good = settings_put(find_option(values[i].option), values[i].value, &job, &error);
        assert_int_equal(is_good, values[i].said == NULL);
        if (!is_good && strstr(error.text, values[i].said) == NULL)
            fail_msg("--%s %s: %s", values[i].option, values[i].value, error.text);
    }
}

static void defaults(void **state)
{
    (void)state;
    struct config config;
    config_init(&config);
    assert_int_equal(config.job.ttl_ms, 180000);
    assert_int_equal(config.job.wait_ms, 0);
    assert_int_equal(config.job.timeout_ms, 0);
    assert_int_equal(config.job.grace_ms, 5000);
    assert_int_equal(config.job.start_within_ms, JOB_START_WITHIN_AUTO);
    assert_int_equal(config.job.held_exit, 75);
    assert_int_equal(config.job.once_per, ONCE_PER_NONE);
    assert_int_equal(config.job.leftovers, GUARD_LEFTOVERS_KILL);
    assert_false(config.job.is_once);
    assert_string_equal(config.schema, "leaserun");
    assert_int_equal(config.log_level, CONFIG_LEVEL_AUTO);
    assert_int_equal(config.log_format, LOG_FORMAT_AUTO);
    config_done(&config);
}

static void keys__stand_where_they_mean_something(void **state)
{
    static const struct {
        const char *header, *key;
        bool is_there;
    } keys[] = {
        {"store", "url", true},          {"store", "ttl", false},
        {"defaults", "ttl", true},       {"job nightly", "ttl", true},
        {"defaults", "wait", true},      {"job nightly", "wait", false},
        {"defaults", "schedule", false}, {"job nightly", "schedule", true},
        {"defaults", "command", false},  {"defaults", "exec", false},
        {"defaults", "key", false},      {"defaults", "timezone", true},
        {"schedule", "watch", true},     {"defaults", "watch", false},
    };
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(keys); i++) {
        const struct setting_section *section = settings_find_section(keys[i].header);
        assert_non_null(section);
        if ((settings_find_key(section, keys[i].key) != NULL) != keys[i].is_there)
            fail_msg("%s in [%s]", keys[i].key, keys[i].header);
    }
    assert_null(settings_find_section("job"));
    assert_null(settings_find_section("store x"));
    assert_null(settings_find_section("jobs"));
}

static void description__bounds_choices_default(void **state)
{
    static const struct {
        const char *option;
        const char *text;
    } rows[] = {
        {"ttl", "at least 5s, at most 1w, default 3m"}, {"held-exit", "at most 255, default 75"},
        {"leftovers", "kill|wait|leave, default kill"}, {"once-per", "minute|hour|day"},
        {"start-within", "or auto, default auto"},      {"store", ""},
    };
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(rows); i++) {
        struct text out = TEXT_INIT;
        settings_describe(find_option(rows[i].option), &out);
        assert_string_equal(text_string(&out), rows[i].text);
        text_done(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row__is_whole),
        cmocka_unit_test(values__fit_or_are_told),
        cmocka_unit_test(defaults),
        cmocka_unit_test(keys__stand_where_they_mean_something),
        cmocka_unit_test(description__bounds_choices_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
