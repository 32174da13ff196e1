/* SPDX-License-Identifier: ISC */
/* What the command sees, and how its end is told. */
#include "base/mem.h"
#include "base/text.h"
#include "command/command_status.h"
#include "guard/processes.h"
#include "scene.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void check_status(struct scene *scene, int code)
{
    assert_int_equal(scene->started_count, 1);
    assert_int_equal(scene->exited_count, 1);
    assert_int_equal(scene->empty_count, 1);
    assert_int_equal(scene->killer, GUARD_KILLER_NONE);
    assert_int_equal(command_status_code(scene->wait_status), code);
}

static void command__exit_status__is_told(void **state)
{
    static const int codes[] = {0, 1, 2, 75, 125, 126, 127, 128, 255};
    for (size_t i = 0; i < CASE_COUNT(codes); i++) {
        void *one;
        char script[32];
        assert_int_equal(scene_set_up(&one), 0);
        struct scene *scene = one;
        snprintf(script, sizeof script, "exit %d", codes[i]);
        scene_run_script(scene, script);
        check_status(scene, codes[i]);
        assert_int_equal(scene_tear_down(&one), 0);
    }
}

static void command__killed_by_signal__is_128_and_number(void **state)
{
    struct scene *scene = *state;
    char text[120];
    scene_run_script(scene, "kill -KILL $$");
    check_status(scene, 137);
    command_status_format(scene->wait_status, scene->killer, text, sizeof text);
    assert_string_equal(text, "was ended by signal 9 (KILL), not by leaserun");
    command_status_format(scene->wait_status, GUARD_KILLER_DEADLINE, text, sizeof text);
    assert_string_equal(text, "was ended by signal 9 (KILL) as its lease ran out");
    command_status_format(0x300, GUARD_KILLER_NONE, text, sizeof text);
    assert_string_equal(text, "exited with status 3");
}

static void try_to_start(struct scene *scene, const char *program)
{
    char *copy = mem_strdup(program);
    char *argv[] = {copy, NULL};
    scene_open(scene, argv);
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
    assert_int_equal(scene->not_started_count, 1);
    assert_int_equal(scene->started_count, 0);
    assert_int_equal(scene->exited_count, 0);
    free(copy);
}

static char *make_file(struct scene *scene, const char *text, int mode)
{
    char *path = mem_printf("%s/program", scene->folder);
    FILE *file = fopen(path, "we");
    fputs(text, file);
    fclose(file);
    chmod(path, (mode_t)mode);
    return path;
}

static void command__missing_in_path__is_127(void **state)
{
    struct scene *scene = *state;
    try_to_start(scene, "no-such-program-here");
    assert_int_equal(scene->exit_code, 127);
    assert_non_null(
        strstr(scene->why.text, "\"no-such-program-here\": no such program in PATH (/"));
}

static void command__missing_file__is_127(void **state)
{
    struct scene *scene = *state;
    try_to_start(scene, "/no/such/file");
    assert_int_equal(scene->exit_code, 127);
    assert_string_equal(scene->why.text, "cannot start /no/such/file: No such file or directory");
}

static void command__folder__is_126(void **state)
{
    struct scene *scene = *state;
    try_to_start(scene, "/usr");
    assert_int_equal(scene->exit_code, 126);
    assert_string_equal(scene->why.text, "cannot start /usr: it is a folder");
}

static void command__not_executable__is_126(void **state)
{
    struct scene *scene = *state;
    MEM_AUTOFREE char *path = make_file(scene, "#!/bin/sh\n", 0644);
    try_to_start(scene, path);
    assert_int_equal(scene->exit_code, 126);
    assert_non_null(strstr(scene->why.text, "program: it is not executable"));
}

static void command__missing_interpreter__is_126_and_named(void **state)
{
    struct scene *scene = *state;
    MEM_AUTOFREE char *path = make_file(scene, "#! /no/interpreter -x\n", 0755);
    try_to_start(scene, path);
    assert_int_equal(scene->exit_code, 126);
    assert_non_null(strstr(scene->why.text, "its interpreter /no/interpreter does not exist"));
}

static void command__dos_line_ends__are_named(void **state)
{
    struct scene *scene = *state;
    MEM_AUTOFREE char *path = make_file(scene, "#!/bin/sh\r\nexit 0\r\n", 0755);
    try_to_start(scene, path);
    assert_int_equal(scene->exit_code, 126);
    assert_non_null(strstr(scene->why.text, "interpreter /bin/sh and ends with a carriage return"));
}

static void command__script_without_first_line__goes_through_sh(void **state)
{
    struct scene *scene = *state;
    MEM_AUTOFREE char *path = make_file(scene, "exit 9\n", 0755);
    char *argv[] = {path, NULL};
    scene_open(scene, argv);
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
    check_status(scene, 9);
}

static void command__deadline_passed_already__is_not_started(void **state)
{
    struct scene *scene = *state;
    scene_open_script(scene, ": >ran");
    scene->start.kill_at_boot_ms = 1;
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
    assert_int_equal(scene->not_started_count, 1);
    assert_int_equal(scene->exit_code, 71);
    assert_non_null(strstr(scene->why.text, "the lease ran out before"));
}

static void check_lines(struct scene *scene, const char *name, const char *const *lines,
                        size_t count)
{
    char *text = scene_read(scene, name);
    size_t missing_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (strstr(text, lines[i]) != NULL)
            continue;
        print_message("no \"%s\" in: %s\n", lines[i], text);
        missing_count++;
    }
    free(text);
    assert_int_equal(missing_count, 0);
}

static void command__environment__has_the_mandate(void **state)
{
    struct scene *scene = *state;
    setenv("LEASERUN_SLOT", "an outer one", 1);
    setenv("LEASERUN_KEY", "an outer one", 1);
    scene->start.attempt = 3;
    scene_run_script(scene, "env >env");
    static const char *const lines[] = {
        "\nLEASERUN_KEY=the key\n",
        "\nLEASERUN_FENCE=42\n",
        "\nLEASERUN_RUN_ID=0123456789abcdef0123456789abcdef\n",
        "\nLEASERUN_JOB=a job\n",
        "\nLEASERUN_ATTEMPT=3\n",
    };
    check_lines(scene, "env", lines, CASE_COUNT(lines));
    MEM_AUTOFREE char *text = scene_read(scene, "env");
    assert_null(strstr(text, "LEASERUN_SLOT"));
    assert_null(strstr(text, "an outer one"));
    unsetenv("LEASERUN_SLOT");
    unsetenv("LEASERUN_KEY");
}

static void command__slot__is_in_the_environment(void **state)
{
    struct scene *scene = *state;
    scene->start.slot = "2026-03-01T02:00:00Z";
    scene_run_script(scene, "echo $LEASERUN_SLOT >slot");
    static const char *const lines[] = {"2026-03-01T02:00:00Z\n"};
    check_lines(scene, "slot", lines, 1);
}

static void command__arguments__arrive_as_they_are(void **state)
{
    struct scene *scene = *state;
    char words[][80] = {
        "/bin/sh", "-c", "printf '<%s>' \"$@\" >\"$SCENE/words\"", "sh", "-v", "--", "", "a b",
        "*",       "\n"};
    char *argv[CASE_COUNT(words) + 1] = {NULL};
    for (size_t i = 0; i < CASE_COUNT(words); i++)
        argv[i] = words[i];
    scene_open(scene, argv);
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
    MEM_AUTOFREE char *text = scene_read(scene, "words");
    assert_string_equal(text, "<-v><--><><a b><*><\n>");
}

/* Ours that exec does not close are the command's; all that another process has. */
static struct text list_descriptors(pid_t other)
{
    struct text list = TEXT_INIT;
    char path[64], target[8];
    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)other, fd);
        bool has = other == 0 ? flags >= 0 && (flags & FD_CLOEXEC) == 0
                              : readlink(path, target, sizeof target) > 0;
        if (has)
            text_addf(&list, "%d ", fd);
    }
    return list;
}

static void command__descriptors__are_exactly_the_given_ones(void **state)
{
    struct scene *scene = *state;
    struct process process = {.name = ""};
    int ends[2];
    assert_int_equal(pipe(ends), 0); /* as from a shell's <(...) */
    TEXT_AUTODONE struct text given = list_descriptors(0);
    MEM_AUTOFREE char *script = mem_printf("echo hi >/proc/self/fd/%d; exec sleep 30", ends[1]);
    scene_open_script(scene, script);
    close(ends[1]);
    scene_start(scene);
    scene_wait(scene, &scene->started_count, 1);
    while (strcmp(process.name, "sleep") != 0)
        assert_true(process_read("/proc", (pid_t)scene->pid, &process));
    struct text got = list_descriptors((pid_t)scene->pid);
    for (int i = 0; i < 100 && strcmp(text_string(&got), text_string(&given)) != 0; i++) {
        usleep(10000); /* its dynamic linker has a library open for a moment */
        text_done(&got);
        got = list_descriptors((pid_t)scene->pid);
    }
    MEM_AUTOFREE char *seen = text_detach(&got);
    assert_string_equal(seen, text_string(&given));
    command_stop(scene->command, SIGKILL, 0);
    scene_wait(scene, &scene->empty_count, 1);
    char bytes[8] = "";
    assert_int_equal(read(ends[0], bytes, sizeof bytes), 3); /* the end of file comes after it */
    assert_int_equal(read(ends[0], bytes + 3, sizeof bytes - 3), 0);
    close(ends[0]);
}

static void command__signals__are_default_and_unblocked(void **state)
{
    struct scene *scene = *state;
    signal(SIGUSR1, SIG_IGN);
    scene_run_script(scene, "exec grep '^Sig[BI]' /proc/self/status >signals");
    static const char *const lines[] = {"SigBlk:\t0000000000000000\n",
                                        "SigIgn:\t0000000000000000\n"};
    check_lines(scene, "signals", lines, 2);
    signal(SIGUSR1, SIG_DFL);
}

static void command__nohup__keeps_hup_ignored(void **state)
{
    struct scene *scene = *state;
    scene->given_signals = (struct signals_given){.hup_ignored = true, .quit_ignored = true};
    scene_run_script(scene, "exec grep '^SigIgn' /proc/self/status >signals");
    static const char *const lines[] = {"SigIgn:\t0000000000000005\n"};
    check_lines(scene, "signals", lines, 1);
}

static void command__group__is_its_own_in_our_session(void **state)
{
    struct scene *scene = *state;
    char expected[64];
    scene_run_script(scene, "cut -d' ' -f5,6 /proc/$$/stat >stat; ulimit -c >core; umask >umask");
    snprintf(expected, sizeof expected, "%d %d\n", (int)scene->pid, (int)getsid(0));
    const char *const lines[] = {expected};
    check_lines(scene, "stat", lines, 1);
}

static void command__running__its_guard_shows_key_and_fence(void **state)
{
    struct scene *scene = *state;
    char path[64], line[200] = "";
    scene->start.fence = 7;
    scene_open_script(scene, "echo up >up; exec sleep 30");
    scene_start(scene);
    scene_wait_file(scene, "up", line, sizeof line);
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)command_guard_pid(scene->command));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = read(fd, line, sizeof line - 1);
    close(fd);
    assert_true(count > 0);
    static const char expected[] = "leaserun-guard\0the key\0fence=00000000000000000007";
    assert_memory_equal(line, expected, sizeof expected);
    command_stop(scene->command, SIGKILL, 0);
    scene_wait(scene, &scene->empty_count, 1);
}

/* E14: neither leaserun nor the guard keeps the other end of a pipe waiting. */
static void command__closes_its_input__the_writer_notices(void **state)
{
    struct scene *scene = *state;
    int ends[2], saved = dup(STDIN_FILENO);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    dup2(ends[0], STDIN_FILENO);
    scene_open_script(scene, "exec <&-; echo up >up; exec sleep 30");
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(ends[0]);
    scene_start(scene);
    char line[8];
    scene_wait_file(scene, "up", line, sizeof line);
    struct pollfd writer = {.fd = ends[1]};
    assert_int_equal(poll(&writer, 1, 10000), 1); /* the guard may close it a moment later */
    assert_int_equal(write(ends[1], "x", 1), -1); /* SIGPIPE is ignored here */
    close(ends[1]);
    command_signal(scene->command, SIGTERM);
    scene_wait(scene, &scene->empty_count, 1);
    assert_int_equal(command_status_code(scene->wait_status), 128 + SIGTERM);
}

static void command__stopped__is_told_and_continues(void **state)
{
    struct scene *scene = *state;
    scene_open_script(scene, "kill -STOP $$; exit 5");
    scene_start(scene);
    scene_wait(scene, &scene->stopped_count, 1);
    assert_int_equal(scene->stop_signal, SIGSTOP);
    command_continue(scene->command, false);
    scene_wait(scene, &scene->empty_count, 1);
    check_status(scene, 5);
}

static void command__not_wanted__guard_goes_at_once(void **state)
{
    struct scene *scene = *state;
    scene_open_script(scene, "exit 0");
    pid_t guard = (pid_t)command_guard_pid(scene->command);
    scene_close(scene);
    assert_int_equal(kill(guard, 0), -1);
}

static void command__many_times__leaves_nothing(void **state)
{
    int before = scene_fd_count(), rounds = IS_UNDER_VALGRIND ? 20 : 1000;
    for (int i = 0; i < rounds; i++) {
        void *one;
        assert_int_equal(scene_set_up(&one), 0);
        struct scene *scene = one;
        char program[] = "/bin/true";
        char *argv[] = {program, NULL};
        scene_open(scene, argv);
        scene_start(scene);
        scene_wait(scene, &scene->empty_count, 1);
        check_status(scene, 0);
        assert_int_equal(scene_tear_down(&one), 0);
    }
    assert_int_equal(scene_fd_count(), before);
}

int main(void)
{
    scene_main();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command__exit_status__is_told),
        SCENE_CASE(command__killed_by_signal__is_128_and_number),
        SCENE_CASE(command__missing_in_path__is_127),
        SCENE_CASE(command__missing_file__is_127),
        SCENE_CASE(command__folder__is_126),
        SCENE_CASE(command__not_executable__is_126),
        SCENE_CASE(command__missing_interpreter__is_126_and_named),
        SCENE_CASE(command__dos_line_ends__are_named),
        SCENE_CASE(command__script_without_first_line__goes_through_sh),
        SCENE_CASE(command__deadline_passed_already__is_not_started),
        SCENE_CASE(command__environment__has_the_mandate),
        SCENE_CASE(command__slot__is_in_the_environment),
        SCENE_CASE(command__arguments__arrive_as_they_are),
        SCENE_CASE(command__descriptors__are_exactly_the_given_ones),
        SCENE_CASE(command__signals__are_default_and_unblocked),
        SCENE_CASE(command__nohup__keeps_hup_ignored),
        SCENE_CASE(command__group__is_its_own_in_our_session),
        SCENE_CASE(command__running__its_guard_shows_key_and_fence),
        SCENE_CASE(command__closes_its_input__the_writer_notices),
        SCENE_CASE(command__stopped__is_told_and_continues),
        SCENE_CASE(command__not_wanted__guard_goes_at_once),
        cmocka_unit_test(command__many_times__leaves_nothing),
    };
    return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
