/* SPDX-License-Identifier: ISC */
/* The command on a terminal. Each case plays leaserun in a session of its own on a new pseudo
 * terminal, and the person at its other end. */
#include "base/mem.h"
#include "base/now.h"
#include "command/command_status.h"
#include "guard/processes.h"
#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(report_fd, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                     \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static int report_fd;

/* Runs play() as the leader of a session whose terminal is the other end of *ret_master. */
static void on_terminal(struct scene *scene, void (*play)(struct scene *scene, int master))
{
    int status, reports[2];
    char report[300] = "";
    assert_int_equal(pipe2(reports, O_CLOEXEC), 0);
    pid_t pid = scene_fork(scene);
    if (pid == 0) {
        report_fd = reports[1];
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        CHECK(grantpt(master) == 0 && unlockpt(master) == 0);
        setsid();
        int slave = open(ptsname(master), O_RDWR);
        CHECK(ioctl(slave, TIOCSCTTY, 0) == 0);
        dup2(slave, STDIN_FILENO);
        dup2(slave, STDOUT_FILENO);
        close(slave);
        scene->start.is_foreground = true;
        play(scene, master);
        scene_close(scene);
        _exit(0);
    }
    close(reports[1]);
    ssize_t count = read(reports[0], report, sizeof report - 1);
    close(reports[0]);
    waitpid(pid, &status, 0);
    if (status != 0)
        fail_msg("%s", count > 0 ? report : "it died");
}

static void type(int master, const char *keys)
{
    CHECK(write(master, keys, strlen(keys)) == (ssize_t)strlen(keys));
}

static void start_and_wait(struct scene *scene, const char *script)
{
    char line[8];
    scene_open_script(scene, script);
    scene_start(scene);
    scene_wait_file(scene, "up", line, sizeof line);
    scene_wait(scene, &scene->started_count, 1);
}

static void play_reading(struct scene *scene, int master)
{
    start_and_wait(scene, "echo up >up; read word; echo $word >word");
    CHECK(tcgetpgrp(STDIN_FILENO) == scene->pid);
    type(master, "hello\n");
    scene_wait(scene, &scene->empty_count, 1);
    MEM_AUTOFREE char *word = scene_read(scene, "word");
    CHECK(strcmp(word, "hello\n") == 0);
    CHECK(scene->stopped_count == 0);
}

static void terminal__command_reads__gets_what_is_typed(void **state)
{
    on_terminal(*state, play_reading);
}

static void play_interrupt(struct scene *scene, int master)
{
    struct process process = {.name = ""};
    start_and_wait(scene, "echo up >up; exec sleep 60");
    while (strcmp(process.name, "sleep") != 0) /* the shell itself may put off an interrupt */
        CHECK(process_read("/proc", (pid_t)scene->pid, &process));
    type(master, "\x03");
    scene_wait(scene, &scene->empty_count, 1);
    CHECK(command_status_code(scene->wait_status) == 130);
}

static void terminal__ctrl_c__ends_the_command(void **state)
{
    on_terminal(*state, play_interrupt);
}

static void play_suspend(struct scene *scene, int master)
{
    start_and_wait(scene, "echo up >up; read word; echo $word >word; exit 13");
    scene_turn(scene, 20); /* it reads */
    type(master, "\x1a");
    scene_wait(scene, &scene->stopped_count, 1);
    CHECK(scene->stop_signal == SIGTSTP);
    CHECK(tcsetpgrp(STDIN_FILENO, getpgrp()) == 0);
    command_continue(scene->command, true);
    type(master, "again\n");
    scene_wait(scene, &scene->empty_count, 1);
    CHECK(command_status_code(scene->wait_status) == 13);
    MEM_AUTOFREE char *word = scene_read(scene, "word");
    CHECK(strcmp(word, "again\n") == 0);
}

static void terminal__ctrl_z__is_told_and_continues_in_front(void **state)
{
    on_terminal(*state, play_suspend);
}

static void play_background(struct scene *scene, int master)
{
    scene->start.is_foreground = false;
    start_and_wait(scene, "echo up >up; read word; echo $word >word");
    scene_wait(scene, &scene->stopped_count, 1); /* it asks for the terminal */
    CHECK(scene->stop_signal == SIGTTIN);
    CHECK(tcgetpgrp(STDIN_FILENO) == getpgrp());
    command_continue(scene->command, true);
    type(master, "late\n");
    scene_wait(scene, &scene->empty_count, 1);
    MEM_AUTOFREE char *word = scene_read(scene, "word");
    CHECK(strcmp(word, "late\n") == 0);
}

static void terminal__not_given__is_asked_for(void **state)
{
    on_terminal(*state, play_background);
}

static void play_missing(struct scene *scene, int master)
{
    char program[] = "/no/such/program";
    char *argv[] = {program, NULL};
    scene_open(scene, argv);
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
    CHECK(scene->not_started_count == 1);
    CHECK(tcgetpgrp(STDIN_FILENO) == getpgrp());
}

static void terminal__command_cannot_start__is_given_back(void **state)
{
    on_terminal(*state, play_missing);
}

int main(void)
{
    scene_main();
    const struct CMUnitTest tests[] = {
        SCENE_CASE(terminal__command_reads__gets_what_is_typed),
        SCENE_CASE(terminal__ctrl_c__ends_the_command),
        SCENE_CASE(terminal__ctrl_z__is_told_and_continues_in_front),
        SCENE_CASE(terminal__not_given__is_asked_for),
        SCENE_CASE(terminal__command_cannot_start__is_given_back),
    };
    return cmocka_run_group_tests_name("terminal", tests, NULL, NULL);
}
