/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "conf/suggest.h"

#include <string.h>

static const char *const names[] = {"store",    "schema", "ttl",   "timeout",  "once",
                                    "once-per", "wait",   "grace", "held-exit"};

static const struct {
    const char *typed;
    const char *suggested; /* NULL: nothing is near */
} rows[] = {
    {"stroe", "store"},
    {"shema", "schema"},
    {"tll", "ttl"},
    {"time-out", "timeout"},
    {"onceper", "once-per"},
    {"waitt", "wait"},
    {"held", "held-exit"},
    {"graces", "grace"},
    {"xyzzy", NULL},
    {"", NULL},
    {"q", NULL},
    {"a-name-that-is-far-too-long-to-be-any-of-these-names", NULL},
};

static void mistyped__nearest_is_suggested(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(rows); i++) {
        const char *nearest = NULL;
        for (size_t j = 0; j < CASE_COUNT(names); j++)
            nearest = suggest_nearer(rows[i].typed, nearest, names[j]);
        if (rows[i].suggested == NULL)
            assert_null(nearest);
        else
            assert_string_equal(nearest, rows[i].suggested);
    }
}

static void full_sentence__is_not_overrun(void **state)
{
    (void)state;
    struct error error;
    char long_text[2000];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    error_set(&error, ERROR_USAGE, "%s", long_text);
    assert_false(suggest_add(&error, "store", "--"));
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    error_set(&error, ERROR_USAGE, "no such option");
    suggest_add(&error, "store", "--");
    assert_string_equal(error.text, "no such option; did you mean --store?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistyped__nearest_is_suggested),
        cmocka_unit_test(full_sentence__is_not_overrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
