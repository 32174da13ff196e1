/* SPDX-License-Identifier: ISC */
#include "captured.h"
#include "check.h"
#include "cli/wrap.h"

#include <string.h>

static void short_text__one_line(void **state)
{
    (void)state;
    captured_start();
    wrap_print(2, "--ttl", 10, "how long");
    wrap_print(2, "--json", 10, "");
    assert_string_equal(captured_end(), "  --ttl   how long\n  --json\n");
}

static void long_name__a_line_of_its_own(void **state)
{
    (void)state;
    captured_start();
    wrap_print(2, "--a-long-name", 10, "how long");
    assert_string_equal(captured_end(), "  --a-long-name\n          how long\n");
}

static void long_text__breaks_before_column_80(void **state)
{
    (void)state;
    char text[1000] = "";
    for (int i = 0; i < 150; i++)
        strcat(text, i % 7 == 0 ? "longer " : "w ");
    captured_start();
    wrap_print(2, "--ttl", 20, text);
    const char *line = captured_end();
    for (size_t length; *line != '\0'; line += length + 1) {
        length = strcspn(line, "\n");
        assert_true(length < 80);
        assert_true(length > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_text__one_line),
        cmocka_unit_test(long_name__a_line_of_its_own),
        cmocka_unit_test(long_text__breaks_before_column_80),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
