/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "loop/signals.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Dispositions are a whole process's: every case runs in a child, whose exit status is 0 when it
 * held. */
static void assert_in_child(bool (*holds)(void))
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(holds() ? 0 : 1);
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static bool is_blocked(int number)
{
    sigset_t set;
    return sigprocmask(SIG_SETMASK, NULL, &set) == 0 && sigismember(&set, number) == 1;
}

static bool is_handled_as(int number, void (*handler)(int))
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == handler;
}

static bool pending_stops_wait_and_are_consumed(void)
{
    struct signals_given given;
    signals_take_stock(&given);
    if (signals_pending_stop() != 0)
        return false;
    raise(SIGTERM);
    raise(SIGUSR1);
    return signals_pending_stop() == SIGTERM && signals_pending_stop() == 0;
}

static bool ignored_stops_stay_ignored(void)
{
    struct signals_given given;
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_IGN);
    signals_take_stock(&given);
    raise(SIGHUP);
    return given.hup_ignored && !given.int_ignored && given.quit_ignored &&
           signals_pending_stop() == 0 && is_handled_as(SIGHUP, SIG_IGN) && !is_blocked(SIGHUP);
}

static bool ignored_child_signal_becomes_default(void)
{
    struct signals_given given;
    int status;
    signal(SIGCHLD, SIG_IGN);
    signals_take_stock(&given);
    pid_t pid = fork();
    if (pid == 0)
        _exit(7);
    return waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7;
}

static bool inherited_mask_is_replaced(void)
{
    struct signals_given given;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    signals_take_stock(&given);
    return is_blocked(SIGTERM) && is_blocked(SIGCHLD) && !is_blocked(SIGALRM) &&
           !is_blocked(SIGSEGV) && !is_blocked(SIGABRT);
}

static bool terminal_and_pipe_signals_are_ignored(void)
{
    struct signals_given given;
    signals_take_stock(&given);
    return is_handled_as(SIGPIPE, SIG_IGN) && is_handled_as(SIGTTOU, SIG_IGN) &&
           is_handled_as(SIGTTIN, SIG_IGN);
}

struct seen {
    int numbers[8];
    int count;
    int close_after;
    struct handles handles;
};

static void on_signal(struct signals *signals, int number)
{
    struct seen *seen = signals->owner;
    seen->numbers[seen->count++] = number;
    if (seen->count == seen->close_after)
        signals_close(signals, &seen->handles);
}

static bool waiting_signals_reach_the_loop(void)
{
    struct signals_given given;
    struct signals signals;
    struct seen seen = {.close_after = 2};
    uv_loop_t loop;
    uv_loop_init(&loop);
    signals_take_stock(&given);
    raise(SIGUSR1); /* before anybody listens */
    if (signals_open(&signals, &loop, on_signal, &seen) != 0)
        return false;
    raise(SIGTERM);
    uv_run(&loop, UV_RUN_DEFAULT);
    int sum = seen.numbers[0] + seen.numbers[1];
    return seen.count == 2 && sum == SIGUSR1 + SIGTERM && uv_loop_close(&loop) == 0;
}

static bool closed_in_its_callback_reads_no_further(void)
{
    struct signals_given given;
    struct signals signals;
    struct seen seen = {.close_after = 1};
    uv_loop_t loop;
    uv_loop_init(&loop);
    signals_take_stock(&given);
    raise(SIGUSR1);
    raise(SIGUSR2);
    if (signals_open(&signals, &loop, on_signal, &seen) != 0)
        return false;
    uv_run(&loop, UV_RUN_DEFAULT);
    return seen.count == 1 && uv_loop_close(&loop) == 0;
}

static bool no_descriptor_left_is_told(void)
{
    struct signals_given given;
    struct signals signals;
    struct seen seen = {.close_after = 1};
    uv_loop_t loop;
    uv_loop_init(&loop);
    signals_take_stock(&given);
    while (dup(0) >= 0)
        continue;
    bool is_told = signals_open(&signals, &loop, on_signal, &seen) == UV_EMFILE;
    return uv_loop_close(&loop) == 0 && is_told;
}

static void signals__stop_before_listening__is_pending_and_consumed(void **state)
{
    assert_in_child(pending_stops_wait_and_are_consumed);
}

static void signals__ignored_at_start__stay_ignored(void **state)
{
    assert_in_child(ignored_stops_stay_ignored);
}

static void signals__sigchld_ignored_at_start__exit_status_is_kept(void **state)
{
    assert_in_child(ignored_child_signal_becomes_default);
}

static void signals__everything_blocked_at_start__only_ours_are(void **state)
{
    assert_in_child(inherited_mask_is_replaced);
}

static void signals__pipe_and_terminal__are_ignored(void **state)
{
    assert_in_child(terminal_and_pipe_signals_are_ignored);
}

static void signals__sent_before_and_after_open__all_arrive(void **state)
{
    assert_in_child(waiting_signals_reach_the_loop);
}

static void signals__closed_in_callback__reads_no_further(void **state)
{
    assert_in_child(closed_in_its_callback_reads_no_further);
}

static void signals__no_descriptor_left__is_an_error(void **state)
{
    assert_in_child(no_descriptor_left_is_told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals__stop_before_listening__is_pending_and_consumed),
        cmocka_unit_test(signals__ignored_at_start__stay_ignored),
        cmocka_unit_test(signals__sigchld_ignored_at_start__exit_status_is_kept),
        cmocka_unit_test(signals__everything_blocked_at_start__only_ours_are),
        cmocka_unit_test(signals__pipe_and_terminal__are_ignored),
        cmocka_unit_test(signals__sent_before_and_after_open__all_arrive),
        cmocka_unit_test(signals__closed_in_callback__reads_no_further),
        cmocka_unit_test(signals__no_descriptor_left__is_an_error),
    };
    return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
