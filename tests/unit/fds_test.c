/* SPDX-License-Identifier: ISC */
#include "base/fds.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptors are a whole process's, and cmocka writes to 1: every case runs in a child, whose
 * exit status is 0 when it held. */
static void assert_in_child(bool (*holds)(void))
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(holds() ? 0 : 1);
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static void close_from(int first)
{
    for (int fd = first; fd < 256; fd++)
        close(fd);
}

static bool is_null_device(int fd)
{
    struct stat status, null;
    return fstat(fd, &status) == 0 && stat("/dev/null", &null) == 0 && S_ISCHR(status.st_mode) &&
           status.st_rdev == null.st_rdev;
}

static bool is_closed(int fd)
{
    return fcntl(fd, F_GETFD) < 0 && errno == EBADF;
}

static bool standard_closed_gets_null(void)
{
    struct fds given;
    close_from(0);
    fds_take_stock(&given);
    free(given.numbers);
    return is_null_device(0) && is_null_device(1) && is_null_device(2) && given.count == 0 &&
           is_closed(3);
}

static bool only_the_closed_one_is_filled(void)
{
    struct fds given;
    int pipe_fds[2];
    close_from(0);
    if (pipe(pipe_fds) != 0 || dup2(pipe_fds[0], 2) != 2)
        return false;
    close(1);
    fds_take_stock(&given);
    free(given.numbers);
    return !is_null_device(0) && is_null_device(1) && !is_null_device(2) && given.count == 0;
}

static bool others_are_listed_in_order(void)
{
    struct fds given;
    close_from(3);
    bool is_made = dup2(0, 200) == 200 && dup2(0, 7) == 7 && dup2(0, 3) == 3;
    fds_take_stock(&given);
    bool is_listed = given.count == 3 && given.numbers[0] == 3 && given.numbers[1] == 7 &&
                     given.numbers[2] == 200;
    free(given.numbers);
    return is_made && is_listed && is_closed(4);
}

static bool let_go_closes_given_and_nulls_two(void)
{
    struct fds given;
    int out[2];
    char byte;
    close_from(3);
    if (pipe(out) != 0 || dup2(out[1], 1) != 1 || dup2(out[1], 9) != 9)
        return false;
    close(out[1]);
    fds_take_stock(&given); /* out[0] and 9 */
    int reader = fcntl(out[0], F_DUPFD, 50);
    fds_let_go(&given);
    /* Nobody holds the writing end any more: the reader sees the end. */
    return read(reader, &byte, 1) == 0 && is_closed(9) && is_null_device(0) && is_null_device(1) &&
           !is_null_device(2) && given.count == 0 && given.numbers == NULL;
}

static bool let_go_of_nothing_twice(void)
{
    struct fds given;
    close_from(3);
    fds_take_stock(&given);
    fds_let_go(&given);
    fds_let_go(&given);
    return is_null_device(0) && is_null_device(1) && is_closed(3);
}

static bool little_room_is_told(void)
{
    struct error err;
    close_from(3);
    for (rlim_t limit = 3; limit < 64; limit++) {
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){limit, 64});
        bool has_room = fds_need_room(&err);
        if (has_room != (limit >= 17) || !is_closed(3))
            return false;
    }
    return true;
}

static void fds__0_1_2_closed__become_dev_null(void **state)
{
    SKIP_UNDER_VALGRIND(); /* its descriptors are listed too */
    assert_in_child(standard_closed_gets_null);
}

static void fds__only_1_closed__leaves_0_and_2_alone(void **state)
{
    SKIP_UNDER_VALGRIND(); /* its descriptors are listed too */
    assert_in_child(only_the_closed_one_is_filled);
}

static void fds__others__are_listed_ascending_and_nothing_of_ours(void **state)
{
    SKIP_UNDER_VALGRIND(); /* its descriptors are listed too */
    assert_in_child(others_are_listed_in_order);
}

static void fds__let_go__lets_the_other_end_see_the_end(void **state)
{
    assert_in_child(let_go_closes_given_and_nulls_two);
}

static void fds__little_room__is_told_and_taken_by_nobody(void **state)
{
    SKIP_UNDER_VALGRIND(); /* it keeps some of the room for itself */
    assert_in_child(little_room_is_told);
}

static void fds__let_go_of_nothing__does_no_harm(void **state)
{
    assert_in_child(let_go_of_nothing_twice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fds__0_1_2_closed__become_dev_null),
        cmocka_unit_test(fds__only_1_closed__leaves_0_and_2_alone),
        cmocka_unit_test(fds__others__are_listed_ascending_and_nothing_of_ours),
        cmocka_unit_test(fds__let_go__lets_the_other_end_see_the_end),
        cmocka_unit_test(fds__little_room__is_told_and_taken_by_nobody),
        cmocka_unit_test(fds__let_go_of_nothing__does_no_harm),
    };
    return cmocka_run_group_tests_name("fds", tests, NULL, NULL);
}
