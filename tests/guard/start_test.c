/* SPDX-License-Identifier: ISC */
/* The start of a command: a guard that does not answer, one command after the other, and what the
 * command's process makes of itself. */
#include "base/mem.h"
#include "base/now.h"
#include "base/text.h"
#include "command/command_status.h"
#include "scene.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void guard__stopped_before_the_start__has_started_nothing_after_five_seconds(void **state)
{
    struct scene *scene = *state;
    scene_open_script(scene, "echo ran >ran");
    kill((pid_t)command_guard_pid(scene->command), SIGSTOP);
    int64_t before = now_boot_ms();
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
    int64_t took_ms = now_boot_ms() - before;
    assert_in_range(took_ms, 4900, 8000);
    assert_int_equal(scene->not_started_count, 1);
    assert_int_equal(scene->guard_died_count, 0);
    assert_int_equal(scene->exit_code, 71);
    assert_non_null(strstr(scene->why.text, "its guard was killed or does not answer"));
    MEM_AUTOFREE char *ran = scene_read(scene, "ran");
    assert_string_equal(ran, "");
}

static void guard__stopped_before_the_start__is_waited_for_no_longer_than_the_lease(void **state)
{
    struct scene *scene = *state;
    scene_open_script(scene, "echo ran >ran");
    kill((pid_t)command_guard_pid(scene->command), SIGSTOP);
    scene->start.term_at_boot_ms = now_boot_ms() + 300;
    scene->start.kill_at_boot_ms = now_boot_ms() + 60000;
    int64_t before = now_boot_ms();
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
    assert_in_range(now_boot_ms() - before, 290, 3000);
    assert_int_equal(scene->not_started_count, 1);
}

static void guard__stopped_for_a_moment_before_the_start__starts_the_command(void **state)
{
    struct scene *scene = *state;
    scene_open_script(scene, "exit 4");
    kill((pid_t)command_guard_pid(scene->command), SIGSTOP);
    scene_start(scene);
    scene_turn(scene, 500);
    assert_int_equal(scene->started_count, 0);
    kill((pid_t)command_guard_pid(scene->command), SIGCONT);
    scene_wait(scene, &scene->empty_count, 1);
    assert_int_equal(scene->started_count, 1);
    assert_int_equal(command_status_code(scene->wait_status), 4);
}

static void commands__one_after_the_other__each_with_a_guard_of_its_own(void **state)
{
    struct scene *scene = *state;
    int64_t guard = 0;
    for (int i = 1; i <= 5; i++) {
        MEM_AUTOFREE char *before = scene->script;
        scene_open_script(scene, "exit 3");
        assert_int_not_equal(command_guard_pid(scene->command), guard);
        guard = command_guard_pid(scene->command);
        scene_start(scene);
        scene_wait(scene, &scene->empty_count, i);
        assert_int_equal(scene->exited_count, i);
        assert_int_equal(command_status_code(scene->wait_status), 3);
        scene_close(scene);
    }
}

static void command__folder_and_mask__are_as_the_plan_says(void **state)
{
    static char folder[] = "/usr";
    struct scene *scene = *state;
    scene->plan.cwd = folder;
    scene->plan.umask = 027;
    scene_open_script(scene, "umask >mask; echo $OLDPWD >folder");
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
    MEM_AUTOFREE char *mask = scene_read(scene, "mask");
    MEM_AUTOFREE char *before = scene_read(scene, "folder");
    assert_string_equal(mask, "0027\n");
    assert_string_equal(before, "/usr\n");
}

static void
command__folder_that_is_not_there__is_not_started_unless_it_may_be_the_root(void **state)
{
    static char folder[] = "/no/such/folder";
    struct scene *scene = *state;
    scene->plan.cwd = folder;
    scene_open_script(scene, "true");
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
    assert_int_equal(scene->not_started_count, 1);
    assert_non_null(strstr(scene->why.text, "cannot enter /no/such/folder, the working folder of"));
    scene_close(scene);
    scene->plan.is_cwd_optional = true;
    MEM_AUTOFREE char *before = scene->script;
    scene_open_script(scene, "echo $OLDPWD >folder");
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 2);
    MEM_AUTOFREE char *place = scene_read(scene, "folder");
    assert_string_equal(place, "/\n");
}

/* ---- what it writes -------------------------------------------------------------------------- */

static void output__as_lines__is_told_before_empty(void **state)
{
    struct scene *scene = *state;
    scene->output = JOB_OUTPUT_LINES;
    scene->tail_most = 7;
    scene_run_script(scene, "echo one; printf two; (trap 'echo bye; exit' TERM; sleep 0.05; sleep "
                            "5 & wait) & exec >&2; echo err");
    assert_string_equal(text_string(&scene->written[0]), "one|twobye|");
    assert_string_equal(text_string(&scene->written[1]), "err|");
    assert_int_equal(scene->late_line_count, 0);
}

static void output__discarded__is_nowhere_but_in_the_tail(void **state)
{
    struct scene *scene = *state;
    size_t length;
    scene->output = JOB_OUTPUT_DISCARD;
    scene->tail_most = 4;
    scene_run_script(scene, "echo one; echo two >/dev/stderr");
    const char *tail = command_tail(scene->command, &length);
    assert_int_equal(length, 4);
    assert_memory_equal(tail, "two\n", 4);
    assert_int_equal(scene->written[0].length + scene->written[1].length, 0);
}

int main(void)
{
    scene_main();
    const struct CMUnitTest tests[] = {
        SCENE_CASE(guard__stopped_before_the_start__has_started_nothing_after_five_seconds),
        SCENE_CASE(guard__stopped_before_the_start__is_waited_for_no_longer_than_the_lease),
        SCENE_CASE(guard__stopped_for_a_moment_before_the_start__starts_the_command),
        SCENE_CASE(commands__one_after_the_other__each_with_a_guard_of_its_own),
        SCENE_CASE(command__folder_and_mask__are_as_the_plan_says),
        SCENE_CASE(command__folder_that_is_not_there__is_not_started_unless_it_may_be_the_root),
        SCENE_CASE(output__as_lines__is_told_before_empty),
        SCENE_CASE(output__discarded__is_nowhere_but_in_the_tail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
