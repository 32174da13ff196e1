/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "loop/pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 100000 /* and on: limits on processes do not hold for root */

static bool fails_and_says_why(void)
{
    struct error err;
    return !pool_prepare(1, &err) && err.kind == ERROR_SYSTEM && strstr(err.text, "ulimit -u");
}

static bool succeeds(void)
{
    struct error err;
    return pool_prepare(1, &err) && pool_prepare(1, &err) &&
           strcmp(getenv("UV_THREADPOOL_SIZE"), "1") == 0;
}

/* In a process of its own, as a user of its own (all processes of a user count, those of the same
 * test next door too), with room for so many processes and threads. */
static void check_with(rlim_t process_count, bool (*is_right)(void))
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit = {process_count, process_count};
        bool is_set = setuid(NOBODY + (uid_t)getpid()) == 0 && setrlimit(RLIMIT_NPROC, &limit) == 0;
        _exit(is_set && is_right() ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static void prepare__without_room_for_a_thread__says_so(void **state)
{
    if (geteuid() != 0)
        skip();
    check_with(1, fails_and_says_why);
}

static void prepare__with_room__settles_the_number(void **state)
{
    if (geteuid() != 0)
        skip();
    check_with(2, succeeds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prepare__without_room_for_a_thread__says_so),
        cmocka_unit_test(prepare__with_room__settles_the_number),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
