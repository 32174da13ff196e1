/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "guard/guard_link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void open_pair(int ends[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static void tell(int fd, enum guard_message_kind kind)
{
    assert_true(guard_link_tell(fd, &(struct guard_message){.kind = kind}));
}

static void last_words__of_an_end_that_left_ours_unread__are_heard(void **state)
{
    (void)state;
    struct guard_message message;
    int ends[2];
    open_pair(ends);
    tell(ends[0], GUARD_READY); /* never read */
    tell(ends[1], GUARD_DISMISS);
    close(ends[1]);
    assert_int_equal(guard_link_hear(ends[0], &message), GUARD_LINK_MESSAGE);
    assert_int_equal(message.kind, GUARD_DISMISS);
    assert_int_equal(guard_link_hear(ends[0], &message), GUARD_LINK_CLOSED);
    close(ends[0]);
}

static void end_of_file__after_an_interrupted_call__is_the_end(void **state)
{
    (void)state;
    struct guard_message message;
    int ends[2];
    open_pair(ends);
    assert_int_equal(guard_link_hear(ends[0], &message), GUARD_LINK_NOTHING);
    close(ends[1]);
    errno = EINTR;
    assert_int_equal(guard_link_hear(ends[0], &message), GUARD_LINK_CLOSED);
    close(ends[0]);
}

static void texts__without_end__are_ended(void **state)
{
    (void)state;
    struct guard_message message;
    int ends[2];
    open_pair(ends);
    memset(&message, 'x', sizeof message);
    assert_true(guard_link_tell(ends[1], &message));
    assert_int_equal(guard_link_hear(ends[0], &message), GUARD_LINK_MESSAGE);
    assert_int_equal(strlen(message.holder), sizeof message.holder - 1);
    assert_int_equal(strlen(message.run_id), sizeof message.run_id - 1);
    assert_int_equal(strlen(message.slot), sizeof message.slot - 1);
    assert_int_equal(strlen(message.text), sizeof message.text - 1);
    close(ends[0]);
    close(ends[1]);
}

static void packet__of_another_size__is_passed_over(void **state)
{
    (void)state;
    struct guard_message message;
    int ends[2];
    open_pair(ends);
    assert_int_equal(send(ends[1], "short", 5, 0), 5);
    tell(ends[1], GUARD_PAUSE);
    assert_int_equal(guard_link_hear(ends[0], &message), GUARD_LINK_MESSAGE);
    assert_int_equal(message.kind, GUARD_PAUSE);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_words__of_an_end_that_left_ours_unread__are_heard),
        cmocka_unit_test(end_of_file__after_an_interrupted_call__is_the_end),
        cmocka_unit_test(texts__without_end__are_ended),
        cmocka_unit_test(packet__of_another_size__is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
