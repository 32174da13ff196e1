/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "guard/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder like /proc: 100 has the children 101 and 102, 101 has 103, 103 has 104; 105 is 1's. */
static const struct row {
    int pid, parent;
    const char *children;
} rows[] = {
    {100, 1, "101 102 "}, {101, 100, "103 "}, {102, 100, ""},
    {103, 101, "104 "},   {104, 103, ""},     {105, 1, ""},
};

static char proc[] = "/tmp/proc-test.XXXXXX";

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static void make_process(const struct row *row, bool has_lists)
{
    char path[128], line[128];
    snprintf(path, sizeof path, "%s/%d", proc, row->pid);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%d/stat", proc, row->pid);
    snprintf(line, sizeof line, "%d (a) b\n) S %d %d 1 0 -1 1 1 1 1 1 1 1 1 1 20 0 1 0 %d 1 1\n",
             row->pid, row->parent, row->pid - 1, row->pid * 10);
    write_file(path, line);
    if (!has_lists)
        return;
    snprintf(path, sizeof path, "%s/%d/task", proc, row->pid);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%d/task/%d", proc, row->pid, row->pid);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%d/task/%d/children", proc, row->pid, row->pid);
    write_file(path, row->children);
}

static int set_up(void **state)
{
    snprintf(proc, sizeof proc, "/tmp/proc-test.XXXXXX");
    return mkdtemp(proc) == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", proc);
    return system(command);
}

static bool has(const struct processes *processes, pid_t pid)
{
    for (size_t i = 0; i < processes->count; i++)
        if (processes->rows[i].pid == pid)
            return true;
    return false;
}

static void check_tree(bool has_lists, bool is_thorough)
{
    struct processes below;
    for (size_t i = 0; i < CASE_COUNT(rows); i++)
        make_process(&rows[i], has_lists);
    processes_below(&below, proc, 100, NULL, 0, is_thorough);
    assert_int_equal(below.count, 4);
    assert_true(has(&below, 101) && has(&below, 102) && has(&below, 103) && has(&below, 104));
    processes_done(&below);
    const pid_t spared[] = {101};
    processes_below(&below, proc, 100, spared, 1, is_thorough);
    assert_int_equal(below.count, 1);
    assert_true(has(&below, 102));
    processes_done(&below);
}

static void processes__kernel_has_lists__follows_them(void **state)
{
    check_tree(true, false);
}

static void processes__kernel_has_none__reads_all(void **state)
{
    check_tree(false, false);
}

static void processes__thorough__reads_all(void **state)
{
    check_tree(true, true);
}

static void process__name_with_brackets__is_read_past(void **state)
{
    struct process process;
    make_process(&rows[1], false);
    assert_true(process_read(proc, 101, &process));
    assert_int_equal(process.parent, 100);
    assert_int_equal(process.group, 100);
    assert_int_equal(process.start_ticks, 1010);
    assert_int_equal(process.state, 'S');
    assert_string_equal(process.name, "a)?b?");
    assert_false(process_read(proc, 999, &process));
}

static void process__self__is_found_in_the_real_folder(void **state)
{
    struct process process;
    assert_true(process_read("/proc", getpid(), &process));
    assert_int_equal(process.parent, getppid());
    assert_int_equal(process.group, getpgrp());
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(processes__kernel_has_lists__follows_them),
        CASE(processes__kernel_has_none__reads_all),
        CASE(processes__thorough__reads_all),
        CASE(process__name_with_brackets__is_read_past),
        CASE(process__self__is_found_in_the_real_folder),
    };
    return cmocka_run_group_tests_name("processes", tests, NULL, NULL);
}
