/* SPDX-License-Identifier: ISC */
#include "base/exit_code.h"
#include "check.h"

#include <stdio.h>
#include <string.h>

static const char *meaning_of(const char *number)
{
    for (const struct exit_code_row *row = exit_codes; row->number != NULL; row++)
        if (strcmp(row->number, number) == 0)
            return row->meaning;
    return NULL;
}

static void exit_codes__every_own_status__has_a_row(void **state)
{
    static const enum exit_code own[] = {
        EXIT_USAGE_ERROR, EXIT_STORE,  EXIT_SYSTEM,    EXIT_OUTPUT,     EXIT_NOT_RUN,
        EXIT_LOST,        EXIT_CONFIG, EXIT_TIMED_OUT, EXIT_CANNOT_RUN, EXIT_NOT_FOUND,
    };
    for (size_t i = 0; i < CASE_COUNT(own); i++) {
        char number[8];
        snprintf(number, sizeof number, "%d", own[i]);
        assert_non_null(meaning_of(number));
    }
    assert_non_null(meaning_of("128+n"));
}

static void exit_codes__every_row__is_complete(void **state)
{
    for (const struct exit_code_row *row = exit_codes; row->number != NULL; row++) {
        assert_non_null(row->name);
        assert_true(row->meaning != NULL && row->meaning[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes__every_own_status__has_a_row),
        cmocka_unit_test(exit_codes__every_row__is_complete),
    };
    return cmocka_run_group_tests_name("exit_code", tests, NULL, NULL);
}
