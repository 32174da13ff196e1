/* SPDX-License-Identifier: ISC */
/* What lives on after the command has ended. */
#include "base/mem.h"
#include "base/now.h"
#include "command/command_status.h"
#include "scene.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A daemon in the old way (two forks, a session of its own), then the rest of the script. */
static void open_with(struct scene *scene, const char *daemon, const char *then)
{
    MEM_AUTOFREE char *start = mem_printf(
        "setsid sh -c '(%s) </dev/null >/dev/null 2>&1 & echo $! >daemon' &\nwait\n", daemon);
    MEM_AUTOFREE char *script = mem_printf("%s%s", start, then);
    scene_open_script(scene, script);
}

static int64_t elapsed_ms(const struct scene *scene)
{
    return scene->empty_boot_ms - scene->exited_boot_ms;
}

static void leftovers__kill__get_term_and_are_named(void **state)
{
    struct scene *scene = *state;
    open_with(scene, "exec sleep 60", "exit 3");
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
    pid_t pid = scene_wait_pid(scene, "daemon");
    MEM_AUTOFREE char *expected = mem_printf("sleep (pid %d)", (int)pid);
    assert_int_equal(command_status_code(scene->wait_status), 3);
    assert_int_equal(scene->leftovers_count, 1);
    assert_string_equal(scene->leftovers, expected);
    assert_int_equal(kill(pid, 0), -1);
    assert_in_range(elapsed_ms(scene), 50, 1000);
}

static void leftovers__deaf_to_term__are_killed_after_grace(void **state)
{
    struct scene *scene = *state;
    scene->start.grace_ms = 300;
    open_with(scene, "trap \"\" TERM; exec sleep 60", "exit 0");
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
    assert_int_equal(scene->leftovers_count, 1);
    assert_in_range(elapsed_ms(scene), 390, 1500);
    assert_int_equal(kill(scene_wait_pid(scene, "daemon"), 0), -1);
}

static void leftovers__end_by_themselves__are_not_told(void **state)
{
    struct scene *scene = *state;
    scene_run_script(scene, "(sleep 0.03; echo all of it >out) &\nexit 0");
    MEM_AUTOFREE char *out = scene_read(scene, "out");
    assert_string_equal(out, "all of it\n");
    assert_int_equal(scene->leftovers_count, 0);
}

static void leftovers__wait__are_told_and_left_in_peace(void **state)
{
    struct scene *scene = *state;
    scene->start.leftovers = GUARD_LEFTOVERS_WAIT;
    open_with(scene, "trap \"\" TERM; sleep 0.5; echo done >out", "exit 0");
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
    MEM_AUTOFREE char *out = scene_read(scene, "out");
    assert_string_equal(out, "done\n");
    assert_true(scene->leftovers_count > 0);
}

static void leftovers__wait_then_stop__are_ended(void **state)
{
    struct scene *scene = *state;
    scene->start.leftovers = GUARD_LEFTOVERS_WAIT;
    open_with(scene, "exec sleep 60", "exit 0");
    scene_start(scene);
    scene_wait(scene, &scene->exited_count, 1);
    scene_turn(scene, 200);
    assert_int_equal(scene->empty_count, 0);
    command_stop(scene->command, SIGTERM, now_boot_ms() + 5000);
    int64_t asked = now_boot_ms();
    scene_wait(scene, &scene->empty_count, 1);
    assert_in_range(scene->empty_boot_ms - asked, 0, 1000);
}

static void leftovers__leave__count_as_no_tree(void **state)
{
    struct scene *scene = *state;
    scene->start.leftovers = GUARD_LEFTOVERS_LEAVE;
    open_with(scene, "exec sleep 60", "exit 4");
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
    assert_in_range(elapsed_ms(scene), 0, 50);
    assert_int_equal(scene->leftovers_count, 0);
    pid_t pid = scene_wait_pid(scene, "daemon");
    scene_close(scene);
    assert_int_equal(kill(pid, SIGKILL), 0);
    scene_gone_at(pid);
    scene_turn(scene, 50); /* it is ours now, and reaped as a stranger */
}

/* A second TERM makes many programs give up their own orderly end. */
static void leftovers__told_by_a_stop__hear_term_once(void **state)
{
    struct scene *scene = *state;
    char line[8];
    scene_open_script(scene, "(trap 'echo t >>terms' TERM; echo up >up\n"
                             "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; done) &\n"
                             "trap 'exit 0' TERM\nwait");
    scene_start(scene);
    scene_wait_file(scene, "up", line, sizeof line);
    command_stop(scene->command, SIGTERM, now_boot_ms() + 5000);
    scene_wait(scene, &scene->empty_count, 1);
    MEM_AUTOFREE char *terms = scene_read(scene, "terms");
    assert_string_equal(terms, "t\n");
    assert_int_equal(scene->killer, GUARD_KILLER_STOP);
}

static void leftovers__hold_a_pipe_open__do_not_hold_up_the_end(void **state)
{
    struct scene *scene = *state;
    int ends[2], saved = dup(STDOUT_FILENO);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    dup2(ends[1], STDOUT_FILENO);
    scene_open_script(scene, "sleep 60 & echo hi");
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(ends[1]);
    int64_t started = now_boot_ms();
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
    assert_in_range(scene->exited_boot_ms - started, 0, 500);
    assert_in_range(elapsed_ms(scene), 0, 1000);
    char got[8];
    assert_int_equal(read(ends[0], got, sizeof got), 3);
    assert_int_equal(read(ends[0], got, sizeof got), 0);
    close(ends[0]);
}

int main(void)
{
    scene_main();
    const struct CMUnitTest tests[] = {
        SCENE_CASE(leftovers__kill__get_term_and_are_named),
        SCENE_CASE(leftovers__deaf_to_term__are_killed_after_grace),
        SCENE_CASE(leftovers__end_by_themselves__are_not_told),
        SCENE_CASE(leftovers__wait__are_told_and_left_in_peace),
        SCENE_CASE(leftovers__wait_then_stop__are_ended),
        SCENE_CASE(leftovers__leave__count_as_no_tree),
        SCENE_CASE(leftovers__told_by_a_stop__hear_term_once),
        SCENE_CASE(leftovers__hold_a_pipe_open__do_not_hold_up_the_end),
    };
    return cmocka_run_group_tests_name("leftovers", tests, NULL, NULL);
}
