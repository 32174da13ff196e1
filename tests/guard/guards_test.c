/* SPDX-License-Identifier: ISC */
/* Children that are none of leaserun's: those it had from the start, and strangers. */
#include "base/now.h"
#include "command/guards.h"
#include "scene.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t inherited;

/* As a shell's child from before its `exec leaserun`. */
static int have_a_child(void **state)
{
    inherited = fork();
    if (inherited == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    guards_begin();
    return inherited < 0 ? -1 : 0;
}

static void kill_guard_and_wait(struct scene *scene)
{
    char line[8];
    scene_open_script(scene, "setsid sleep 60 & echo up >up; sleep 60");
    scene_start(scene);
    scene_wait_file(scene, "up", line, sizeof line);
    kill((pid_t)command_guard_pid(scene->command), SIGKILL);
    scene_wait(scene, &scene->empty_count, 1);
}

static void guards__sweep__spares_inherited_children(void **state)
{
    kill_guard_and_wait(*state);
    assert_int_equal(kill(inherited, 0), 0);
    assert_int_equal(waitpid(inherited, NULL, WNOHANG), 0);
    scene_close(*state);
    kill(inherited, SIGKILL);
    scene_gone_at(inherited);
}

static void guards__strangers__are_reaped_and_no_status_is_lost(void **state)
{
    struct scene *scene = *state;
    for (int i = 0; i < 50; i++)
        if (fork() == 0)
            _exit(0);
    scene_run_script(scene, "exit 3");
    assert_int_equal(WEXITSTATUS(scene->wait_status), 3);
    scene_turn(scene, 50);
    siginfo_t info = {.si_pid = 0};
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), 0); /* the guard */
    assert_int_equal(info.si_pid, 0);
}

/* A guard that has ended but not been heard stands in front of the others. */
static void guards__strangers_behind_a_guard__are_reaped(void **state)
{
    siginfo_t info;
    pid_t guard = fork();
    if (guard == 0)
        _exit(0);
    guards_add(guard);
    waitid(P_PID, (id_t)guard, &info, WEXITED | WNOWAIT);
    pid_t stranger = fork();
    if (stranger == 0)
        _exit(0);
    waitid(P_PID, (id_t)stranger, &info, WEXITED | WNOWAIT);
    guards_reap_strangers();
    assert_int_equal(kill(stranger, 0), -1);
    assert_int_equal(kill(guard, 0), 0);
    guards_remove(guard, false);
    assert_int_equal(kill(guard, 0), -1);
}

int main(void)
{
    scene_main();
    const struct CMUnitTest tests[] = {
        SCENE_CASE(guards__sweep__spares_inherited_children),
        SCENE_CASE(guards__strangers__are_reaped_and_no_status_is_lost),
        SCENE_CASE(guards__strangers_behind_a_guard__are_reaped),
    };
    return cmocka_run_group_tests_name("guards", tests, have_a_child, NULL);
}
