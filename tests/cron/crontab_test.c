/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "cron/crontab.h"

#include <stdio.h>
#include <string.h>

static void expect_text(const char *line, const char *what, const char *found, const char *expected)
{
    bool is_same = found == NULL || expected == NULL ? found == expected : !strcmp(found, expected);
    if (!is_same)
        fail_msg("%s: %s is \"%s\", not \"%s\"", line, what, found == NULL ? "(none)" : found,
                 expected == NULL ? "(none)" : expected);
}

static const struct {
    const char *line;
    const char *schedule, *command, *input;
} jobs[] = {
    {"* * * * * date", "* * * * *", "date", NULL},
    {"  0\t2  * * *\t\tdate -u  ", "0 2 * * *", "date -u", NULL},
    {"@daily date", "@daily", "date", NULL},
    {"@reboot\tdate", "@reboot", "date", NULL},
    {"0 0 * * mon-fri a && b # no comment", "0 0 * * mon-fri", "a && b # no comment", NULL},
    {"0 0 * * * A=1 date", "0 0 * * *", "A=1 date", NULL},
    {"0 0 * * * * * *", "0 0 * * *", "* * *", NULL},
    {"0 0 * * * date +\\%F", "0 0 * * *", "date +%F", NULL},
    {"0 0 * * * cat%one%two", "0 0 * * *", "cat", "one\ntwo\n"},
    {"0 0 * * * cat %one%%two%", "0 0 * * *", "cat", "one\n\ntwo\n"},
    {"0 0 * * * cat%  a\\%b", "0 0 * * *", "cat", "  a%b\n"},
    {"0 0 * * * cat%", "0 0 * * *", "cat", ""},
    {"0 0 * * * cat%%", "0 0 * * *", "cat", "\n"},
    {"0 0 * * * printf 'a\\nb'", "0 0 * * *", "printf 'a\\nb'", NULL},
    /* As Debian's cron was seen to do it. */
    {"0 0 * * * a\\\\b\\c\\\\\\%e", "0 0 * * *", "a\\b\\c\\%e", NULL},
    {"0 0 * * * a\\\\%b", "0 0 * * *", "a\\", "b\n"},
    {"0 0 * * * cat%a\\\\b\\\\\\%c\\", "0 0 * * *", "cat", "a\\\\b\\\\%c\\\n"},
    {"0 0 * * * cat%x\\\\%y", "0 0 * * *", "cat", "x\\%y\n"},
    {"0 0 * * * date\r", "0 0 * * *", "date", NULL},
};

static void a_job__comes_to_schedule_command_and_input(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(jobs); i++) {
        struct crontab_line line;
        crontab_line_parse(jobs[i].line, strlen(jobs[i].line), CRONTAB_CRON, false, &line);
        if (line.kind != CRONTAB_JOB)
            fail_msg("%s: %s", jobs[i].line, line.text);
        expect_text(jobs[i].line, "schedule", line.schedule, jobs[i].schedule);
        expect_text(jobs[i].line, "command", line.command, jobs[i].command);
        expect_text(jobs[i].line, "input", line.input, jobs[i].input);
        assert_null(line.user);
        crontab_line_done(&line);
    }
}

static void a_column_for_users__is_taken_before_the_command(void **state)
{
    (void)state;
    static const char text[] = "17 *\t* * *\troot    cd / && run-parts /etc/cron.hourly";
    struct crontab_line line;
    crontab_line_parse(text, strlen(text), CRONTAB_CRON, true, &line);
    assert_int_equal(line.kind, CRONTAB_JOB);
    assert_string_equal(line.user, "root");
    assert_string_equal(line.command, "cd / && run-parts /etc/cron.hourly");
    crontab_line_done(&line);
}

static const struct {
    const char *line, *name, *value;
} variables[] = {
    {"A=b", "A", "b"},
    {"A = b c  ", "A", "b c"},
    {"A=", "A", ""},
    {"A=\"  b \"", "A", "  b "},
    {"A = 'b\"c'", "A", "b\"c"},
    {"\"A\" = b", "A", "b"},
    {"  A=b=c # d", "A", "b=c # d"},
    {"A=it's", "A", "it's"},
    {"A=%", "A", "%"},
};

static void a_variable__has_its_quotes_taken_off(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(variables); i++) {
        struct crontab_line line;
        crontab_line_parse(variables[i].line, strlen(variables[i].line), CRONTAB_CRON, false,
                           &line);
        assert_int_equal(line.kind, CRONTAB_VARIABLE);
        expect_text(variables[i].line, "name", line.name, variables[i].name);
        expect_text(variables[i].line, "value", line.value, variables[i].value);
        crontab_line_done(&line);
    }
}

static const struct {
    const char *line, *schedule, *command; /* schedule NULL: command is what is said */
} supercronic[] = {
    {"*/5 * * * * * * date", "*/5 * * * * *", "date"},
    {"0 0 * * * * * date", "0 0 * * * *", "date"},
    {"0 30 4 * * mon-fri * date", "0 30 4 * * mon-fri", "date"},
    {"30 4 * * 0 * date", "30 4 * * 0", "date"},
    {"30 4 * * 0 date", "30 4 * * 0", "date"},
    {"30 4 * * 0 7z a", "30 4 * * 0", "7z a"},
    {"30 4 * * 0 echo * *", "30 4 * * 0", "echo * *"},
    {"0 4 */2 * 1 date", "0 4 1-31/2 * 1", "date"},
    {"0 4 1 * */2 date", "0 4 1 * 0-6/2", "date"},
    {"0 4 */2 * * date", "0 4 */2 * *", "date"},
    {"@every 1m30s date", "@every 1m30s", "date"},
    {"@hourly date +%F", "@hourly", "date +%F"},
    {"0 0 1 1 * 2030 date", NULL, "a schedule has no field for years (\"2030\")"},
    {"0 0 0 1 1 * 2030-2032 date", NULL, "a schedule has no field for years (\"2030-2032\")"},
    {"5/15 * * * * date", NULL, "minute \"5/15\": a step needs a range: write 5-59/15"},
};

static void a_line_of_supercronic__is_put_in_our_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(supercronic); i++) {
        struct crontab_line line;
        const char *text = supercronic[i].line;
        crontab_line_parse(text, strlen(text), CRONTAB_SUPERCRONIC, false, &line);
        if (supercronic[i].schedule == NULL) {
            expect_text(text, "reason", line.text, supercronic[i].command);
        } else {
            expect_text(text, "schedule", line.schedule, supercronic[i].schedule);
            expect_text(text, "command", line.command, supercronic[i].command);
        }
        crontab_line_done(&line);
    }
}

static const struct {
    const char *line, *said;
} faults[] = {
    {"nonsense", "neither schedule and command nor NAME=VALUE"},
    {"* * * *", "neither schedule and command nor NAME=VALUE"},
    {"* * * * *", "the command is missing"},
    {"* * * * * %input", "the command is missing"},
    {"@daily", "the command is missing"},
    {"@Daily date", "lower case"},
    {"0 24 * * * date", "hour \"24\": must be 0 to 23"},
    {"0 0 * * * a\x01", "control character"},
    {"0 0 * * * a\rb", "control character"},
    {"A=\"x\" y", "begins with a quote that does not enclose it"},
    {"A='open", "begins with a quote that does not enclose it"},
    {"A='", "begins with a quote that does not enclose it"},
    {"\"A = b", "neither schedule and command nor NAME=VALUE"},
};

static void a_line_that_is_none__is_a_fault_with_its_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(faults); i++) {
        struct crontab_line line;
        crontab_line_parse(faults[i].line, strlen(faults[i].line), CRONTAB_CRON, false, &line);
        assert_int_equal(line.kind, CRONTAB_FAULT);
        if (strstr(line.text, faults[i].said) == NULL)
            fail_msg("%s: %s", faults[i].line, line.text);
        crontab_line_done(&line);
    }
    struct crontab_line line;
    crontab_line_parse("0 0 * * * a\0b", 13, CRONTAB_CRON, false, &line);
    assert_int_equal(line.kind, CRONTAB_FAULT);
    crontab_line_done(&line);
}

static void comments_and_blank_lines__are_known(void **state)
{
    (void)state;
    struct crontab_line line;
    crontab_line_parse("  # a = b", 9, CRONTAB_CRON, false, &line);
    assert_int_equal(line.kind, CRONTAB_COMMENT);
    assert_string_equal(line.text, "# a = b");
    crontab_line_done(&line);
    crontab_line_parse(" \t\r", 3, CRONTAB_CRON, false, &line);
    assert_int_equal(line.kind, CRONTAB_BLANK);
    crontab_line_done(&line);
    crontab_line_parse("", 0, CRONTAB_CRON, false, &line);
    assert_int_equal(line.kind, CRONTAB_BLANK);
    crontab_line_done(&line);
}

static void a_dash_before_the_schedule__is_a_wish_not_to_log(void **state)
{
    (void)state;
    struct crontab_line line;
    crontab_line_parse("-*/15 * * * * date", 18, CRONTAB_CRON, false, &line);
    assert_int_equal(line.kind, CRONTAB_JOB);
    assert_true(line.is_quiet);
    assert_string_equal(line.schedule, "*/15 * * * *");
    crontab_line_done(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job__comes_to_schedule_command_and_input),
        cmocka_unit_test(a_column_for_users__is_taken_before_the_command),
        cmocka_unit_test(a_variable__has_its_quotes_taken_off),
        cmocka_unit_test(a_line_of_supercronic__is_put_in_our_words),
        cmocka_unit_test(a_line_that_is_none__is_a_fault_with_its_reason),
        cmocka_unit_test(comments_and_blank_lines__are_known),
        cmocka_unit_test(a_dash_before_the_schedule__is_a_wish_not_to_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
