/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "conf/string_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void equal_strings__are_one(void **state)
{
    (void)state;
    struct string_pool pool = {0};
    char text[] = "UTC";
    char *kept = string_pool_keep(&pool, text);
    assert_ptr_not_equal(kept, text);
    assert_ptr_equal(string_pool_keep(&pool, "UTC"), kept);
    assert_ptr_not_equal(string_pool_keep(&pool, "UTC2"), kept);
    assert_ptr_not_equal(string_pool_keep(&pool, "UT"), kept);
    assert_string_equal(string_pool_keep(&pool, ""), "");
    string_pool_done(&pool);
}

static void many_and_long_strings__keep_their_place(void **state)
{
    (void)state;
    enum {
        COUNT = 50000,
        LONG = 200000
    };
    struct string_pool pool = {0};
    char name[32];
    char **kept = calloc(COUNT, sizeof *kept);
    char *long_text = malloc(LONG + 1);
    memset(long_text, 'x', LONG);
    long_text[LONG] = '\0';
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "name %d", i);
        kept[i] = string_pool_keep(&pool, name);
    }
    char *kept_long = string_pool_keep(&pool, long_text);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "name %d", i);
        assert_ptr_equal(string_pool_keep(&pool, name), kept[i]);
    }
    string_pool_close(&pool);
    assert_string_equal(kept[COUNT - 1], "name 49999");
    assert_string_equal(kept_long, long_text);
    string_pool_done(&pool);
    free(long_text);
    free(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_strings__are_one),
        cmocka_unit_test(many_and_long_strings__keep_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
