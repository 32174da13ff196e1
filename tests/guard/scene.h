/* SPDX-License-Identifier: ISC */
/* One command under its guard, in a loop, with everything noted that the listener was told.
 * The command's shell has $SCENE, an empty folder, as working folder for its files. */
#pragma once
#include "base/text.h"
#include "check.h"
#include "command/command.h"

#include <stdbool.h>

struct scene {
    uv_loop_t loop;
    struct signals signals;
    struct handles handles;
    struct command *command;
    struct command_start start; /* change it before scene_start */
    struct signals_given given_signals;
    struct command_plan plan; /* change these before scene_open */
    enum job_output output;
    size_t tail_most;
    char folder[64];
    char *script; /* with argv, as long as the command */
    char *argv[4];
    bool is_open;
    int fd_count_before;

    /* told */
    int64_t pid;
    int started_count, not_started_count, exited_count, empty_count, guard_died_count;
    int stopped_count, stop_signal;
    int exit_code; /* of not_started */
    struct error why;
    int wait_status;
    enum guard_killer killer;
    int leftovers_count;
    char leftovers[160];
    struct text written[2]; /* lines of stdout and stderr, each with a | behind it */
    int late_line_count;    /* told after empty */
    int64_t exited_boot_ms, empty_boot_ms, guard_died_boot_ms;
};

/* cmocka's setup and teardown. The teardown closes what is open and fails when a child or a
 * descriptor is left. */
int scene_set_up(void **state);
int scene_tear_down(void **state);
#define SCENE_CASE(name) cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)

/* First thing in main: signals as leaserun has them when it is started from a terminal, however
 * this program was (nohup and a shell's background leave some ignored). */
void scene_main(void);

/* fork(2) for a process that plays leaserun: what fails in it ends it with 99. */
pid_t scene_fork(struct scene *scene);

/* Starts a guard for argv, or for a script of sh; then the command. Deadlines are far away. */
void scene_open(struct scene *scene, char *const *argv);
void scene_open_script(struct scene *scene, const char *script);
void scene_start(struct scene *scene);
void scene_run_script(struct scene *scene, const char *script); /* until empty */

/* Turns the loop until the count is at least so much, at most ten seconds. */
void scene_wait(struct scene *scene, const int *count, int at_least);
/* Turns the loop for so long. */
void scene_turn(struct scene *scene, int64_t ms);
/* Turns the loop until the command has written a line into this file; 0 terminated, newline cut. */
void scene_wait_file(struct scene *scene, const char *name, char *ret_line, size_t room);
/* The same as a number. */
pid_t scene_wait_pid(struct scene *scene, const char *name);
/* The whole file, now. The caller frees. */
char *scene_read(struct scene *scene, const char *name);

/* Waits, without the loop, until no such process lives; returns that instant. */
int64_t scene_gone_at(pid_t pid);

/* Dismisses the guard and closes the command, within the loop. */
void scene_close(struct scene *scene);

int scene_fd_count(void);
