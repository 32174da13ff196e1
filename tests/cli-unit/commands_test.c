/* SPDX-License-Identifier: ISC */
#include "captured.h"
#include "check.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/help_mdoc.h"
#include "conf/ini_text.h"

#include <ctype.h>
#include <string.h>

static void every_command__is_whole(void **state)
{
    (void)state;
    for (const struct cli_command *row = cli_commands; row->name != NULL; row++) {
        assert_ptr_equal(commands_find(row->name), row);
        assert_non_null(row->synopsis);
        assert_true(islower((unsigned char)row->help[0]));
        assert_non_null(row->perform);
        if (row->uses_store)
            assert_true(row->reads_config);
        for (const struct setting *own = row->own; own != NULL && own->option != NULL; own++) {
            assert_int_equal(own->group, SETTING_COMMAND);
            assert_int_equal(own->argument == NULL, own->type == SETTING_SWITCH);
            assert_non_null(own->help);
        }
    }
    assert_null(commands_find("runs"));
}

static void expect_narrow(const char *text)
{
    for (size_t length; *text != '\0'; text += length + 1) {
        length = strcspn(text, "\n");
        if (length > 80)
            fail_msg("over 80 columns: %.*s", (int)length, text);
    }
}

static void help__fits_80_columns(void **state)
{
    (void)state;
    for (const struct cli_command *row = cli_commands; row->name != NULL; row++) {
        captured_start();
        help_print(row);
        expect_narrow(captured_end());
    }
    captured_start();
    help_print(NULL);
    help_print_events();
    help_print_exit_codes();
    help_print_settings();
    help_print_sample();
    expect_narrow(captured_end());
}

static void expect_faultless(const char *text)
{
    struct ini_text ini;
    struct ini_faults faults = {0};
    if (!ini_text_parse(text, strlen(text), &ini, &faults))
        fail_msg("line %d: %s", faults.faults[0].line, faults.faults[0].text);
    ini_text_done(&ini);
    ini_faults_done(&faults);
}

static void sample__is_right_as_it_is_and_with_its_keys_taken_in(void **state)
{
    (void)state;
    captured_start();
    help_print_sample();
    char text[sizeof captured];
    strcpy(text, captured_end());
    expect_faultless(text);
    char *out = text;
    for (const char *in = text; *in != '\0'; in++) {
        bool is_key = *in == '#' && (in == text || in[-1] == '\n') && in[1] != ' ';
        if (!is_key)
            *out++ = *in;
    }
    *out = '\0';
    assert_non_null(strstr(text, "\nttl = 3m\n"));
    expect_faultless(text);
}

static void mdoc__every_part_and_no_other(void **state)
{
    static const char *const parts[] = {"options", "settings", "commands", "events", "exit-status"};
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(parts); i++) {
        captured_start();
        assert_true(help_mdoc_print(parts[i]));
        const char *text = captured_end();
        assert_int_equal(text[0], '.');
        assert_null(strstr(text, "\n\n"));
    }
    assert_false(help_mdoc_print("part"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command__is_whole),
        cmocka_unit_test(help__fits_80_columns),
        cmocka_unit_test(sample__is_right_as_it_is_and_with_its_keys_taken_in),
        cmocka_unit_test(mdoc__every_part_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
