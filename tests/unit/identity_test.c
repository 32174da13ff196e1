/* SPDX-License-Identifier: ISC */
#include "base/identity.h"
#include "base/now.h"
#include "check.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that waits to be killed. */
static pid_t start_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return pid;
}

static void wait_until_zombie(pid_t pid)
{
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void holder__names_host_and_pid_and_never_repeats(void **state)
{
    char one[IDENTITY_HOLDER_MAX], two[IDENTITY_HOLDER_MAX], start[IDENTITY_HOLDER_MAX], host[65];
    identity_holder(one);
    identity_holder(two);
    identity_host(host, sizeof host);
    snprintf(start, sizeof start, "%s/%d/", host, (int)getpid());
    assert_memory_equal(one, start, strlen(start));
    assert_int_equal(strlen(one), strlen(start) + RANDOM_NONCE_CHARS);
    assert_string_not_equal(one, two);
}

static void host__has_neither_blanks_nor_slashes(void **state)
{
    char host[65];
    identity_host(host, sizeof host);
    assert_true(host[0] != '\0');
    for (const char *c = host; *c != '\0'; c++)
        assert_true(isgraph((unsigned char)*c) && *c != '/');
}

static void host__small_room__is_cut(void **state)
{
    char host[4] = "xxx";
    identity_host(host, sizeof host);
    assert_true(strlen(host) < sizeof host);
}

static void run_id__has_a_nonces_form(void **state)
{
    char id[IDENTITY_RUN_ID_MAX];
    identity_run_id(id);
    assert_int_equal(strlen(id), RANDOM_NONCE_CHARS);
    assert_int_equal(strspn(id, RANDOM_NONCE_DIGITS), RANDOM_NONCE_CHARS);
}

static void run_ids__of_one_instant__differ(void **state)
{
    char one[IDENTITY_RUN_ID_MAX], two[IDENTITY_RUN_ID_MAX];
    now_freeze(0, 0);
    identity_run_id(one);
    identity_run_id(two);
    assert_string_not_equal(one, two);
}

static void run_ids__of_later_instants__sort_later(void **state)
{
    char before[IDENTITY_RUN_ID_MAX], after[IDENTITY_RUN_ID_MAX];
    now_freeze(0, INT64_C(1700000000000000));
    identity_run_id(before);
    for (int64_t ms = 1; ms < INT64_C(1000000000000); ms *= 3) {
        now_advance_ms(ms);
        identity_run_id(after);
        assert_true(strcmp(before, after) < 0);
        memcpy(before, after, sizeof before);
    }
}

static void boot_id__is_the_kernels_and_stable(void **state)
{
    char one[64], two[64];
    identity_boot_id(one, sizeof one);
    identity_boot_id(two, sizeof two);
    assert_int_equal(strlen(one), 36);
    assert_null(strchr(one, '\n'));
    assert_string_equal(one, two);
}

static void namespaces__known_has_an_inode_and_unknown_is_0(void **state)
{
    assert_true(identity_namespace("pid") != 0);
    assert_true(identity_namespace("no-such") == 0);
}

static void start_ticks__of_this_process__is_stable(void **state)
{
    int64_t ticks = identity_start_ticks(getpid());
    assert_true(ticks > 0);
    assert_true(identity_start_ticks(getpid()) == ticks);
}

static void start_ticks__of_a_child__is_not_before_ours(void **state)
{
    pid_t child = start_child();
    assert_true(identity_start_ticks(child) >= identity_start_ticks(getpid()));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void start_ticks__of_a_zombie_and_of_nobody__is_minus_1(void **state)
{
    pid_t child = start_child();
    kill(child, SIGKILL);
    wait_until_zombie(child);
    assert_int_equal(identity_start_ticks(child), -1);
    waitpid(child, NULL, 0);
    assert_int_equal(identity_start_ticks(child), -1);
    assert_int_equal(identity_start_ticks(0), -1);
    assert_int_equal(identity_start_ticks(-1), -1);
}

static void start_ticks__name_with_brackets_and_blanks__is_read_right(void **state)
{
    char before[16];
    int64_t ticks = identity_start_ticks(getpid());
    assert_int_equal(prctl(PR_GET_NAME, before), 0);
    assert_int_equal(prctl(PR_SET_NAME, "a) Z 1 (b"), 0);
    assert_true(identity_start_ticks(getpid()) == ticks);
    prctl(PR_SET_NAME, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holder__names_host_and_pid_and_never_repeats),
        cmocka_unit_test(host__has_neither_blanks_nor_slashes),
        cmocka_unit_test(host__small_room__is_cut),
        cmocka_unit_test(run_id__has_a_nonces_form),
        cmocka_unit_test(run_ids__of_one_instant__differ),
        cmocka_unit_test(run_ids__of_later_instants__sort_later),
        cmocka_unit_test(boot_id__is_the_kernels_and_stable),
        cmocka_unit_test(namespaces__known_has_an_inode_and_unknown_is_0),
        cmocka_unit_test(start_ticks__of_this_process__is_stable),
        cmocka_unit_test(start_ticks__of_a_child__is_not_before_ours),
        cmocka_unit_test(start_ticks__of_a_zombie_and_of_nobody__is_minus_1),
        cmocka_unit_test(start_ticks__name_with_brackets_and_blanks__is_read_right),
    };
    return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
