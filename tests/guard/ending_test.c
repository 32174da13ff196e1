/* SPDX-License-Identifier: ISC */
/* Ends that are not the command's own: asked for, by the deadline, by the death of leaserun or of
 * the guard. Run as `PROGRAM release ...` this program is the leaserun that gives a lease back. */
#include "base/mem.h"
#include "base/now.h"
#include "base/text.h"
#include "command/command_status.h"
#include "guard/processes.h"
#include "scene.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Deaf to TERM, with a child in the group and a grandchild in a session of its own. */
#define STUBBORN                                                                                   \
    "trap '' TERM HUP INT\n"                                                                       \
    "setsid sh -c 'echo $$ >grandchild; while :; do sleep 1; done' &\n"                            \
    "sh -c 'echo $$ >child; while :; do sleep 1; done' &\n"                                        \
    "echo $$ >leader\n"                                                                            \
    "while :; do sleep 1; done"

struct pids {
    pid_t leader, child, grandchild;
};

static struct pids wait_pids(struct scene *scene)
{
    return (struct pids){.leader = scene_wait_pid(scene, "leader"),
                         .child = scene_wait_pid(scene, "child"),
                         .grandchild = scene_wait_pid(scene, "grandchild")};
}

static int64_t all_gone_at(const struct pids *pids)
{
    scene_gone_at(pids->leader);
    scene_gone_at(pids->child);
    return scene_gone_at(pids->grandchild);
}

/* Some milliseconds when the machine is idle (they are printed); this much when it is not. */
#define SOON_MS 1000

static int give_back(int argc, char **argv)
{
    char store[128] = "";
    MEM_AUTOFREE char *path = mem_printf("%s/release", getenv("SCENE"));
    ssize_t count = pread(atoi(argv[3]), store, sizeof store, 0);
    FILE *file = fopen(path, "we");
    for (int i = 1; i < argc; i++)
        fprintf(file, "%s ", i == 3 ? "N" : argv[i]);
    fprintf(file, "(%d %s %s)\n", (int)count, store, store + strlen(store) + 1);
    return fclose(file);
}

static void check_given_back(struct scene *scene)
{
    char line[200];
    scene_wait_file(scene, "release", line, sizeof line);
    assert_string_equal(line, "release --store-fd N --holder host/1/nonce -- the key "
                              "(29 sqlite:/nowhere leaserun)");
}

static void stop__command_has_a_handler__hears_it_once(void **state)
{
    struct scene *scene = *state;
    char line[8];
    scene_open_script(scene, "trap 'echo t >>terms; exit 7' TERM; echo up >up\n"
                             "while :; do sleep 0.02; done");
    scene_start(scene);
    scene_wait_file(scene, "up", line, sizeof line);
    command_stop(scene->command, SIGTERM, now_boot_ms() + 5000);
    scene_wait(scene, &scene->empty_count, 1);
    MEM_AUTOFREE char *terms = scene_read(scene, "terms");
    assert_string_equal(terms, "t\n");
    assert_int_equal(command_status_code(scene->wait_status), 7);
    assert_int_equal(scene->killer, GUARD_KILLER_STOP);
}

static void stop__deaf_to_term__is_killed_on_time(void **state)
{
    struct scene *scene = *state;
    scene_open_script(scene, STUBBORN);
    scene_start(scene);
    struct pids pids = wait_pids(scene);
    int64_t kill_at = now_boot_ms() + 200;
    command_stop(scene->command, SIGTERM, kill_at + 60000);
    command_stop(scene->command, SIGTERM, kill_at);
    command_stop(scene->command, 0, kill_at + 60000); /* only ever nearer */
    scene_wait(scene, &scene->empty_count, 1);
    assert_in_range(scene->empty_boot_ms - kill_at, 0, SOON_MS);
    assert_in_range(all_gone_at(&pids) - kill_at, 0, SOON_MS);
    assert_int_equal(scene->guard_died_count, 0);
    assert_int_equal(command_status_code(scene->wait_status), 137);
}

static void stop__command_is_stopped__hears_it_all_the_same(void **state)
{
    struct scene *scene = *state;
    scene_open_script(scene, "trap 'exit 6' TERM; kill -STOP $$; while :; do sleep 0.02; done");
    scene_start(scene);
    scene_wait(scene, &scene->stopped_count, 1);
    command_stop(scene->command, SIGTERM, now_boot_ms() + 5000);
    scene_wait(scene, &scene->empty_count, 1);
    assert_int_equal(command_status_code(scene->wait_status), 6);
}

/* Sessions that each start the next one and end, and a shell that starts more and more. */
static void stop__tree_that_respawns__ends(void **state)
{
    struct scene *scene = *state;
    char line[8];
    struct processes below;
    scene_open_script(scene, "cat >link <<'EOF'\n"
                             "#!/bin/sh\n"
                             "sleep 0.01\n"
                             "[ $1 -eq 0 ] || setsid ./link $(($1 - 1)) &\n"
                             "EOF\n"
                             "chmod +x link; ./link 500 & ./link 500 & echo up >up\n"
                             "for i in $(seq 500); do setsid sleep 60 & sleep 0.01; done");
    scene_start(scene);
    scene_wait_file(scene, "up", line, sizeof line);
    scene_turn(scene, 200);
    int64_t asked = now_boot_ms();
    command_stop(scene->command, SIGKILL, asked);
    scene_wait(scene, &scene->empty_count, 1);
    print_message("# respawning tree gone after %d ms\n", (int)(scene->empty_boot_ms - asked));
    assert_in_range(scene->empty_boot_ms - asked, 0, SOON_MS);
    processes_below(&below, "/proc", (pid_t)command_guard_pid(scene->command), NULL, 0, true);
    assert_int_equal(below.count, 0);
    assert_int_equal(scene->guard_died_count, 0);
}

/* So near that it comes soon, so far that no tree that is there now is missed. */
static int64_t move_deadline(struct scene *scene)
{
    int64_t kill_at = now_boot_ms() + 300;
    command_move_deadline(scene->command, kill_at - 100, kill_at);
    return kill_at;
}

static void deadline__as_given_at_the_start__holds(void **state)
{
    struct scene *scene = *state;
    int64_t kill_at = now_boot_ms() + 1000;
    scene->start.term_at_boot_ms = kill_at - 100;
    scene->start.kill_at_boot_ms = kill_at;
    scene_run_script(scene, "trap '' TERM; sleep 60");
    assert_int_equal(scene->killer, GUARD_KILLER_DEADLINE);
    assert_in_range(scene->empty_boot_ms - kill_at, 0, SOON_MS);
}

static void deadline__leaserun_answers__is_told_and_lives(void **state)
{
    struct scene *scene = *state;
    scene_open_script(scene, STUBBORN);
    scene_start(scene);
    struct pids pids = wait_pids(scene);
    int64_t kill_at = move_deadline(scene);
    scene_wait(scene, &scene->empty_count, 1);
    assert_int_equal(scene->killer, GUARD_KILLER_DEADLINE);
    assert_in_range(scene->empty_boot_ms - kill_at, 0, SOON_MS);
    all_gone_at(&pids);
    scene_turn(scene, 400); /* were it taken for dead, this would not end */
    assert_int_equal(scene->guard_died_count, 0);
}

static void deadline__is_moved__command_lives_on(void **state)
{
    struct scene *scene = *state;
    char line[8];
    scene_open_script(scene, "echo up >up; sleep 0.6; exit 8");
    scene_start(scene);
    scene_wait_file(scene, "up", line, sizeof line);
    int64_t kill_at = move_deadline(scene);
    command_move_deadline(scene->command, kill_at + 60000, kill_at + 70000);
    scene_wait(scene, &scene->empty_count, 1);
    assert_int_equal(command_status_code(scene->wait_status), 8);
    assert_int_equal(scene->killer, GUARD_KILLER_NONE);
}

static void deadline__term_comes_first__and_only_once(void **state)
{
    struct scene *scene = *state;
    char line[8];
    scene_open_script(scene, "trap 'echo t >>terms; n=1' TERM\n"
                             "setsid sh -c 'trap \"echo t >>others; exit\" TERM\n"
                             "echo up >up; while :; do sleep 0.02; done' &\n"
                             "while [ -z \"$n\" ]; do sleep 0.02; done; sleep 0.4; exit 9");
    scene_start(scene);
    scene_wait_file(scene, "up", line, sizeof line);
    int64_t now = now_boot_ms();
    command_move_deadline(scene->command, now + 50, now + 5000);
    scene_wait_file(scene, "terms", line, sizeof line);
    command_stop(scene->command, SIGTERM, now + 5000); /* what leaserun's own clock says too */
    scene_wait(scene, &scene->empty_count, 1);
    MEM_AUTOFREE char *terms = scene_read(scene, "terms");
    MEM_AUTOFREE char *others = scene_read(scene, "others");
    assert_string_equal(terms, "t\n");
    assert_string_equal(others, "t\n");
    assert_int_equal(command_status_code(scene->wait_status), 9);
    assert_int_equal(scene->killer, GUARD_KILLER_DEADLINE);
}

/* Plays leaserun in a process of its own: opens, starts, and does what is asked for. */
static pid_t fork_leaserun(struct scene *scene, void (*play)(struct scene *scene))
{
    pid_t pid = scene_fork(scene);
    if (pid != 0)
        return pid;
    scene_open_script(scene, STUBBORN);
    scene_start(scene);
    wait_pids(scene);
    play(scene);
    _exit(0);
}

/* The same with a deadline that is moved when the tree is there. */
struct doomed {
    pid_t leaserun;
    struct pids pids;
    int64_t kill_at_boot_ms;
};

static void play_doomed(struct scene *scene)
{
    MEM_AUTOFREE char *path = mem_printf("%s/kill_at", scene->folder);
    FILE *file = fopen(path, "we");
    fprintf(file, "%" PRId64 "\n", move_deadline(scene));
    fclose(file);
}

static struct doomed fork_doomed(struct scene *scene, void (*play)(struct scene *scene))
{
    char kill_at[24];
    struct doomed doomed = {.leaserun = fork_leaserun(scene, play), .pids = wait_pids(scene)};
    scene_wait_file(scene, "kill_at", kill_at, sizeof kill_at);
    doomed.kill_at_boot_ms = strtoll(kill_at, NULL, 10);
    return doomed;
}

static void play_stopped(struct scene *scene)
{
    play_doomed(scene);
    raise(SIGSTOP);
}

static void play_hanging_doomed(struct scene *scene)
{
    play_doomed(scene);
    for (;;)
        pause();
}

static void play_hanging(struct scene *scene)
{
    for (;;)
        pause();
}

static void check_deadline_kills_both(struct scene *scene, void (*play)(struct scene *scene),
                                      int64_t most_ms)
{
    int status;
    struct doomed doomed = fork_doomed(scene, play);
    int64_t gone_ms = all_gone_at(&doomed.pids) - doomed.kill_at_boot_ms;
    print_message("# tree gone %d ms after the deadline\n", (int)gone_ms);
    assert_in_range(gone_ms, 0, SOON_MS);
    assert_int_equal(waitpid(doomed.leaserun, &status, 0), doomed.leaserun);
    assert_in_range(now_boot_ms() - doomed.kill_at_boot_ms, 0, most_ms);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    check_given_back(scene);
}

static void deadline__leaserun_is_stopped__both_are_killed(void **state)
{
    check_deadline_kills_both(*state, play_stopped, SOON_MS);
}

static void deadline__leaserun_hangs__both_are_killed(void **state)
{
    check_deadline_kills_both(*state, play_hanging_doomed, 200 + SOON_MS);
}

static void play_paused(struct scene *scene)
{
    play_doomed(scene);
    command_pause(scene->command);
    raise(SIGSTOP);
    scene_wait(scene, &scene->empty_count, 1);
    bool is_right = scene->exited_count == 1 && scene->killer == GUARD_KILLER_DEADLINE &&
                    scene->guard_died_count == 0;
    scene_close(scene);
    _exit(is_right ? 33 : 44);
}

/* Ctrl-Z for longer than the lease. */
static void deadline__leaserun_has_paused__only_the_tree_is_killed(void **state)
{
    struct scene *scene = *state;
    int status;
    struct doomed doomed = fork_doomed(scene, play_paused);
    assert_in_range(all_gone_at(&doomed.pids) - doomed.kill_at_boot_ms, 0, SOON_MS);
    usleep(1000 * 1000); /* were leaserun taken for dead, it would be killed by then */
    kill(doomed.leaserun, SIGCONT);
    assert_int_equal(waitpid(doomed.leaserun, &status, 0), doomed.leaserun);
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 33);
}

static void continue__past_the_deadline__runs_nothing(void **state)
{
    struct scene *scene = *state;
    scene_open_script(scene, "kill -STOP $$; echo ran >ran");
    scene_start(scene);
    scene_wait(scene, &scene->stopped_count, 1);
    command_move_deadline(scene->command, now_boot_ms() + 150, now_boot_ms() + 150);
    usleep(200 * 1000);
    command_continue(scene->command, false);
    scene_wait(scene, &scene->empty_count, 1);
    MEM_AUTOFREE char *ran = scene_read(scene, "ran");
    assert_string_equal(ran, "");
}

static void leaserun_killed__tree_dies_and_the_lease_is_given_back(void **state)
{
    struct scene *scene = *state;
    pid_t leaserun = fork_leaserun(scene, play_hanging);
    struct pids pids = wait_pids(scene);
    int64_t killed = now_boot_ms();
    kill(leaserun, SIGKILL);
    int64_t gone = all_gone_at(&pids);
    print_message("# tree gone %d ms after leaserun\n", (int)(gone - killed));
    assert_in_range(gone - killed, 0, SOON_MS);
    waitpid(leaserun, NULL, 0);
    check_given_back(scene);
}

static void leaserun_closes_undismissed__is_a_death(void **state)
{
    struct scene *scene = *state;
    scene_open_script(scene, STUBBORN);
    scene_start(scene);
    struct pids pids = wait_pids(scene);
    pid_t guard = (pid_t)command_guard_pid(scene->command);
    command_close(scene->command, NULL);
    scene->is_open = false;
    all_gone_at(&pids);
    check_given_back(scene);
    scene_gone_at(guard);
    scene_turn(scene, 50);
}

static void leaserun_closes_before_start__the_claim_is_undone(void **state)
{
    struct scene *scene = *state;
    char line[200];
    scene_open_script(scene, "echo started >started");
    pid_t guard = (pid_t)command_guard_pid(scene->command);
    command_close(scene->command, NULL);
    scene->is_open = false;
    scene_wait_file(scene, "release", line, sizeof line);
    assert_string_equal(line, "release --store-fd N --holder host/1/nonce --unstarted run "
                              "-- the key (29 sqlite:/nowhere leaserun)");
    scene_gone_at(guard);
    scene_turn(scene, 50);
}

static void leaserun_dismissed_it__nothing_is_given_back(void **state)
{
    struct scene *scene = *state;
    scene_run_script(scene, "exit 0");
    scene_close(scene);
    MEM_AUTOFREE char *release = scene_read(scene, "release");
    assert_string_equal(release, "");
}

static void guard_killed__leaserun_ends_the_tree(void **state)
{
    struct scene *scene = *state;
    scene_open_script(scene, STUBBORN);
    scene_start(scene);
    struct pids pids = wait_pids(scene);
    int64_t killed = now_boot_ms();
    kill((pid_t)command_guard_pid(scene->command), SIGKILL);
    scene_wait(scene, &scene->empty_count, 1);
    print_message("# tree gone %d ms after the guard\n", (int)(scene->empty_boot_ms - killed));
    assert_in_range(all_gone_at(&pids) - killed, 0, SOON_MS);
    assert_int_equal(scene->guard_died_count, 1);
    assert_true(scene->guard_died_boot_ms <= scene->empty_boot_ms);
    scene_turn(scene, 50);
    assert_int_equal(scene->empty_count, 1);
}

static void guard_killed_before_start__start_is_refused(void **state)
{
    struct scene *scene = *state;
    scene_open_script(scene, "exit 0");
    kill((pid_t)command_guard_pid(scene->command), SIGKILL);
    scene_wait(scene, &scene->guard_died_count, 1);
    scene_wait(scene, &scene->empty_count, 1);
    scene_start(scene);
    assert_int_equal(scene->not_started_count, 0); /* never from within a call */
    scene_wait(scene, &scene->empty_count, 2);
    assert_int_equal(scene->not_started_count, 1);
    assert_int_equal(scene->exit_code, 71);
}

static void guard_stopped__leaserun_ends_the_tree(void **state)
{
    struct scene *scene = *state;
    scene_open_script(scene, STUBBORN);
    scene_start(scene);
    struct pids pids = wait_pids(scene);
    pid_t guard = (pid_t)command_guard_pid(scene->command);
    kill(guard, SIGSTOP);
    int64_t kill_at = now_boot_ms() + 100;
    command_stop(scene->command, SIGTERM, kill_at);
    scene_wait(scene, &scene->empty_count, 1);
    assert_int_equal(scene->guard_died_count, 1);
    assert_in_range(all_gone_at(&pids) - kill_at, 500, 500 + SOON_MS);
    assert_int_equal(kill(guard, 0), -1);
}

static void guard_killed__other_children_are_left_alone(void **state)
{
    struct scene *other = *state;
    void *second;
    assert_int_equal(scene_set_up(&second), 0);
    struct scene *scene = second;
    scene_open_script(other, "sleep 0.7; exit 11");
    scene_start(other);
    scene_open_script(scene, STUBBORN);
    scene_start(scene);
    struct pids pids = wait_pids(scene);
    kill((pid_t)command_guard_pid(scene->command), SIGKILL);
    scene_wait(scene, &scene->empty_count, 1);
    all_gone_at(&pids);
    scene_close(scene);
    scene_wait(other, &other->empty_count, 1);
    assert_int_equal(command_status_code(other->wait_status), 11);
    assert_int_equal(other->guard_died_count, 0);
    scene_close(other);
    assert_int_equal(scene_tear_down(&second), 0); /* which expects no child */
    setenv("SCENE", other->folder, 1);
}

/* What a service manager or a careless script sends to everyone. */
static void guard__signals_to_it__change_nothing(void **state)
{
    struct scene *scene = *state;
    char line[8];
    scene_open_script(scene, "echo up >up; sleep 0.3; exit 12");
    scene_start(scene);
    scene_wait_file(scene, "up", line, sizeof line);
    static const int numbers[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE,
                                  SIGALRM, SIGUSR1, SIGUSR2, SIGTSTP, SIGTTIN};
    for (size_t i = 0; i < CASE_COUNT(numbers); i++)
        kill(-(pid_t)command_guard_pid(scene->command), numbers[i]);
    scene_wait(scene, &scene->empty_count, 1);
    assert_int_equal(command_status_code(scene->wait_status), 12);
}

int main(int argc, char **argv)
{
    if (argc > 4 && strcmp(argv[1], "release") == 0)
        return give_back(argc, argv);
    scene_main();
    const struct CMUnitTest tests[] = {
        SCENE_CASE(stop__command_has_a_handler__hears_it_once),
        SCENE_CASE(stop__deaf_to_term__is_killed_on_time),
        SCENE_CASE(stop__command_is_stopped__hears_it_all_the_same),
        SCENE_CASE(stop__tree_that_respawns__ends),
        SCENE_CASE(deadline__as_given_at_the_start__holds),
        SCENE_CASE(deadline__leaserun_answers__is_told_and_lives),
        SCENE_CASE(deadline__is_moved__command_lives_on),
        SCENE_CASE(deadline__term_comes_first__and_only_once),
        SCENE_CASE(deadline__leaserun_is_stopped__both_are_killed),
        SCENE_CASE(deadline__leaserun_hangs__both_are_killed),
        SCENE_CASE(deadline__leaserun_has_paused__only_the_tree_is_killed),
        SCENE_CASE(continue__past_the_deadline__runs_nothing),
        SCENE_CASE(leaserun_killed__tree_dies_and_the_lease_is_given_back),
        SCENE_CASE(leaserun_closes_undismissed__is_a_death),
        SCENE_CASE(leaserun_closes_before_start__the_claim_is_undone),
        SCENE_CASE(leaserun_dismissed_it__nothing_is_given_back),
        SCENE_CASE(guard_killed__leaserun_ends_the_tree),
        SCENE_CASE(guard_killed_before_start__start_is_refused),
        SCENE_CASE(guard_stopped__leaserun_ends_the_tree),
        SCENE_CASE(guard_killed__other_children_are_left_alone),
        SCENE_CASE(guard__signals_to_it__change_nothing),
    };
    return cmocka_run_group_tests_name("ending", tests, NULL, NULL);
}
