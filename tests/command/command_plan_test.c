/* SPDX-License-Identifier: ISC */
/* From a job's settings to words, environment and place. */
#include "check.h"
#include "command/command_plan.h"
#include "loop/pool.h"

#include <string.h>
#include <unistd.h>

static char true_[] = "true", command[] = "echo 'a  b' | cat", shell[] = "/bin/bash -eu",
            exec[] = "printf '%s %s' \"a b\" c\\ d", mask[] = "027", folder[] = "/var",
            env[] = "A=1", nobody[] = "nobody", unclosed[] = "echo 'a";
static char *const typed[] = {true_, NULL};
static char *const environment[] = {true_, NULL};

static void check_argv(const struct command_plan *plan, const char *const *expected)
{
    size_t count = 0;
    for (; expected[count] != NULL; count++)
        assert_string_equal(plan->argv[count], expected[count]);
    assert_null(plan->argv[count]);
}

static struct command_plan make(const struct job *job, char *const *argv)
{
    struct command_plan plan;
    struct error err;
    if (!command_plan_make(&plan, job, argv, environment, &err))
        fail_msg("%s", err.text);
    return plan;
}

static void plan__of_a_typed_command__is_that_and_leaves_everything_else(void **state)
{
    struct command_plan plan = make(&(struct job){.command = command}, typed);
    check_argv(&plan, (const char *const[]){"true", NULL});
    assert_string_equal(plan.environment[0], "true");
    assert_null(plan.cwd);
    assert_int_equal(plan.umask, -1);
    assert_false(plan.has_account);
    command_plan_done(&plan);
}

static void plan__of_a_command__goes_to_the_shell_unchanged(void **state)
{
    struct command_plan plan = make(&(struct job){.command = command}, NULL);
    check_argv(&plan, (const char *const[]){"/bin/sh", "-c", command, NULL});
    command_plan_done(&plan);
    plan = make(&(struct job){.command = command, .shell = shell}, NULL);
    check_argv(&plan, (const char *const[]){"/bin/bash", "-eu", "-c", command, NULL});
    command_plan_done(&plan);
}

static void plan__of_exec__has_its_words(void **state)
{
    struct command_plan plan =
        make(&(struct job){.exec = exec, .umask = mask, .cwd = folder, .env = env}, NULL);
    check_argv(&plan, (const char *const[]){"printf", "%s %s", "a b", "c d", NULL});
    assert_int_equal(plan.umask, 027);
    assert_string_equal(plan.cwd, "/var");
    assert_string_equal(plan.environment[1], "A=1");
    command_plan_done(&plan);
}

static void plan__with_a_fault__leaves_nothing(void **state)
{
    struct command_plan plan;
    struct error err;
    assert_false(
        command_plan_make(&plan, &(struct job){.exec = unclosed}, NULL, environment, &err));
    assert_non_null(strstr(err.text, "exec: "));
    assert_false(command_plan_make(&plan, &(struct job){.command = command, .env = unclosed}, NULL,
                                   environment, &err));
    assert_non_null(strstr(err.text, "env: "));
}

struct answers {
    int count, good_count;
};

static void on_made(void *owner, const struct command_plan *made, const struct error *why)
{
    struct answers *answers = owner;
    answers->count++;
    if (made == NULL) {
        assert_non_null(strstr(why->text, "exec: "));
        return;
    }
    struct command_plan plan = *made;
    answers->good_count++;
    command_plan_done(&plan);
}

static void plans__asked_for_in_the_pool__are_all_made(void **state)
{
    uv_loop_t loop;
    struct error err;
    struct answers answers = {0};
    const struct job jobs[] = {
        {.command = command, .user = nobody}, {.exec = unclosed}, {.exec = exec}};
    if (geteuid() != 0)
        skip();
    assert_true(pool_prepare(2, &err));
    uv_loop_init(&loop);
    for (int i = 0; i < 30; i++)
        command_plan_ask(&loop, &jobs[i % 3], environment, on_made, &answers);
    assert_int_equal(answers.count, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(answers.count, 30);
    assert_int_equal(answers.good_count, 20);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan__of_a_typed_command__is_that_and_leaves_everything_else),
        cmocka_unit_test(plan__of_a_command__goes_to_the_shell_unchanged),
        cmocka_unit_test(plan__of_exec__has_its_words),
        cmocka_unit_test(plan__with_a_fault__leaves_nothing),
        cmocka_unit_test(plans__asked_for_in_the_pool__are_all_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
