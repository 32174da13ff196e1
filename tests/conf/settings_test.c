/* SPDX-License-Identifier: ISC */
#include "base/text.h"
#include "check.h"
#include "conf/config.h"
#include "conf/settings.h"

#include <ctype.h>
#include <string.h>

static void every_row__is_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *row = &settings[i];
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
            assert_non_null(settings_section(row->group));
            assert_true(row->initial != NULL || row->example != NULL);
            assert_ptr_equal(settings_find_key(settings_section(row->group), row->key), row);
        }
    }
}

static const struct setting *find_option(const char *name)
{
    for (size_t i = 0; i < settings_count; i++)
        if (settings[i].option != NULL && strcmp(settings[i].option, name) == 0)
            return &settings[i];
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
    assert_int_equal(config.job.start_within_ms, 60000);
    assert_int_equal(config.job.held_exit, 75);
    assert_int_equal(config.job.once_per, ONCE_PER_NONE);
    assert_int_equal(config.job.leftovers, GUARD_LEFTOVERS_KILL);
    assert_false(config.job.is_once);
    assert_string_equal(config.schema, "leaserun");
    assert_int_equal(config.log_level, CONFIG_LEVEL_AUTO);
    assert_int_equal(config.log_format, LOG_FORMAT_AUTO);
    config_done(&config);
}

static void description__bounds_choices_default(void **state)
{
    static const struct {
        const char *option;
        const char *text;
    } rows[] = {
        {"ttl", "at least 5s, at most 1w, default 3m"},
        {"held-exit", "at most 255, default 75"},
        {"leftovers", "kill|wait|leave, default kill"},
        {"once-per", "minute|hour|day"},
        {"store", ""},
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
        cmocka_unit_test(description__bounds_choices_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
