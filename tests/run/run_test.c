/* SPDX-License-Identifier: ISC */
#include "run_fixture.h"

/* ---- to the end of the command ------------------------------------------------------------- */

static void run__command_succeeds__released_and_0(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_run_to(fixture, 2000);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "2000 release succeeded 0 within 2500\n"
                           "2001 dismiss\n"
                           "2001 finished 0\n");
    assert_events("debug claim_won\n"
                  "debug run_finished\n");
    run_fixture_assert_logged(fixture, "fence=7");
    run_fixture_assert_logged(fixture, "outcome=succeeded status=0 took_ms=2001");
    assert_int_equal(fake_store_last_claim()->guard_pid, 4242);
}

static void run__command_fails__its_status(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_run_to(fixture, 10);
    run_fixture_end_command(W_EXITCODE(3, 0));
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "10 release failed 3 within 2500\n"
                           "11 dismiss\n"
                           "11 finished 3\n");
    assert_events("debug claim_won\n"
                  "warn run_failed\n"
                  "debug run_finished\n");
    run_fixture_assert_logged(fixture, "exit status 3");
}

static void run__command_killed_by_another__128_and_signal(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_end_command(W_EXITCODE(0, SIGKILL));
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "0 release failed 137 within 2500\n"
                           "1 dismiss\n"
                           "1 finished 137\n");
    run_fixture_assert_logged(fixture, "signal 9 (Killed), not by leaserun");
}

static void run__long__renewed_until_the_tree_is_empty(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_run_to(fixture, 2 * EVERY_MS + 100);
    fake_command_exited(W_EXITCODE(0, 0), GUARD_KILLER_NONE);
    run_fixture_run_to(fixture, 4 * EVERY_MS - 1); /* its tree takes its time */
    fake_command_empty(GUARD_KILLER_NONE);
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "42850 renew within 5000\n"
                           "42850 deadline term 214250 kill 219250\n"
                           "85700 renew within 5000\n"
                           "85700 deadline term 257100 kill 262100\n"
                           "128550 renew within 5000\n"
                           "128550 deadline term 299950 kill 304950\n"
                           "171399 release succeeded 0 within 2500\n"
                           "171400 dismiss\n"
                           "171400 finished 0\n");
}

static void run__not_started__127_and_nothing_left(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_play(STORE_CLAIM, run_fixture_won);
    run_fixture_play(STORE_RELEASE, run_fixture_released);
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, 3);
    fake_command_not_started(127, "nosuch: No such file or directory");
    fake_command_empty(GUARD_KILLER_NONE);
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "3 release not_started -1 within 2500\n"
                           "4 dismiss\n"
                           "4 finished 127\n");
    assert_events("debug claim_won\n"
                  "error run_failed\n"
                  "debug run_finished\n");
    run_fixture_assert_logged(fixture, "nosuch: No such file or directory");
}

static void run__leftovers__told_and_released_after_them(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_run_to(fixture, 50);
    fake_command_exited(W_EXITCODE(0, 0), GUARD_KILLER_NONE);
    fake_command_leftovers(2, "sleep (pid 12), ssh-agent (pid 15)");
    run_fixture_run_to(fixture, 5050);
    assert_int_equal(journal_count("release"), 0);
    fake_command_empty(GUARD_KILLER_STOP);
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "5050 release succeeded 0 within 2500\n"
                           "5051 dismiss\n"
                           "5051 finished 0\n");
    assert_events("debug claim_won\n"
                  "warn leftovers\n"
                  "debug run_finished\n");
    run_fixture_assert_logged(fixture, "ssh-agent (pid 15)");
}

/* ---- ended by us ---------------------------------------------------------------------------- */

static void run__timeout__term_then_grace_and_124(void **state)
{
    struct run_fixture *fixture = *state;
    fixture->job.timeout_ms = 1000;
    run_fixture_start_running(fixture);
    run_fixture_run_to(fixture, 6000);
    fake_command_exited(W_EXITCODE(0, SIGKILL), GUARD_KILLER_STOP);
    fake_command_empty(GUARD_KILLER_STOP);
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "1000 stop TERM kill 6000\n"
                           "6000 release timed_out 137 within 2500\n"
                           "6001 dismiss\n"
                           "6001 finished 124\n");
    assert_events("debug claim_won\n"
                  "error run_failed\n"
                  "debug run_finished\n");
    run_fixture_assert_logged(fixture, "longer than 1s");
}

static void run__stop_signal__passed_on_and_128_and_signal(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_run_to(fixture, 700);
    run_signal(&fixture->run, SIGTERM);
    run_fixture_run_to(fixture, 900);
    run_fixture_end_command(W_EXITCODE(0, SIGTERM));
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "700 stop TERM kill 5700\n"
                           "900 release stopped 143 within 2500\n"
                           "901 dismiss\n"
                           "901 finished 143\n");
    assert_events("debug claim_won\n"
                  "info run_stopped\n"
                  "debug run_finished\n");
}

static void run__second_stop_signal__passed_on_and_first_is_the_cause(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_signal(&fixture->run, SIGINT);
    run_signal(&fixture->run, SIGTERM);
    run_fixture_end_command(W_EXITCODE(0, SIGTERM));
    run_signal(&fixture->run, SIGHUP); /* the release is hastened */
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "0 stop INT kill 5000\n"
                           "0 signal TERM\n"
                           "0 release stopped 143 within 2500\n"
                           "1 dismiss\n"
                           "1 finished 143\n");
    run_fixture_assert_logged(fixture, "SIGINT");
}

static void run__grace_longer_than_the_renewals__renewed_while_stopping(void **state)
{
    struct run_fixture *fixture = *state;
    fixture->job.grace_ms = 600000;
    run_fixture_start_running(fixture);
    run_fixture_run_to(fixture, 100);
    run_signal(&fixture->run, SIGTERM);
    run_fixture_run_to(fixture, 600100);
    fake_command_exited(W_EXITCODE(0, SIGKILL), GUARD_KILLER_STOP);
    fake_command_empty(GUARD_KILLER_STOP);
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("stop TERM kill 600100"), 1);
    assert_int_equal(journal_count("renew within"),
                     600100 / fixture->run.lease.timing.renew_every_ms);
    assert_int_equal(journal_count("release stopped 137"), 1);
    assert_int_equal(journal_count("finished 137"), 1);
}

static void run__other_signals__passed_on(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_signal(&fixture->run, SIGUSR1);
    run_signal(&fixture->run, SIGUSR2);
    run_signal(&fixture->run, SIGTSTP);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_signal(&fixture->run, SIGUSR1); /* nobody is there any more */
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "0 signal USR1\n"
                           "0 signal USR2\n"
                           "0 signal TSTP\n"
                           "0 release succeeded 0 within 2500\n"
                           "1 dismiss\n"
                           "1 finished 0\n");
}

static void run__time_up_while_stopping__is_stopped_not_timed_out(void **state)
{
    struct run_fixture *fixture = *state;
    fixture->job.timeout_ms = 1000;
    run_fixture_start_running(fixture);
    run_fixture_run_to(fixture, 900);
    run_signal(&fixture->run, SIGTERM);
    run_fixture_run_to(fixture, 1200);
    run_fixture_end_command(W_EXITCODE(0, SIGTERM));
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "900 stop TERM kill 5900\n"
                           "1200 release stopped 143 within 2500\n"
                           "1201 dismiss\n"
                           "1201 finished 143\n");
}

static void run__time_up_while_leftovers_are_ended__is_a_success(void **state)
{
    struct run_fixture *fixture = *state;
    fixture->job.timeout_ms = 1000;
    run_fixture_start_running(fixture);
    run_fixture_run_to(fixture, 900);
    fake_command_exited(W_EXITCODE(0, 0), GUARD_KILLER_NONE);
    fake_command_leftovers(1, "sleep (pid 12)");
    run_fixture_run_to(fixture, 1200);
    run_signal(&fixture->run, SIGTERM);
    fake_command_empty(GUARD_KILLER_STOP);
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("release succeeded 0"), 1);
    assert_int_equal(journal_count("finished 0"), 1);
    assert_events("debug claim_won\n"
                  "warn leftovers\n"
                  "debug run_finished\n");
}

static void run__time_up_while_leftovers_are_waited_for__timed_out(void **state)
{
    struct run_fixture *fixture = *state;
    fixture->job.timeout_ms = 1000;
    fixture->job.leftovers = GUARD_LEFTOVERS_WAIT;
    run_fixture_start_running(fixture);
    run_fixture_run_to(fixture, 900);
    fake_command_exited(W_EXITCODE(0, 0), GUARD_KILLER_NONE);
    fake_command_leftovers(1, "worker (pid 12)");
    run_fixture_run_to(fixture, 1200);
    run_signal(&fixture->run, SIGTERM); /* not the first cause */
    fake_command_empty(GUARD_KILLER_STOP);
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("1000 stop TERM kill 6000"), 1);
    assert_int_equal(journal_count("release timed_out 0"), 1);
    assert_int_equal(journal_count("finished 124"), 1);
}

/* ---- retries -------------------------------------------------------------------------------- */

static void retries__command_fails_once__started_again_under_the_same_lease(void **state)
{
    struct run_fixture *fixture = *state;
    fixture->job.retries = 2;
    fixture->job.retry_delay_ms = 50000;
    run_fixture_start_running(fixture);
    run_fixture_end_command(W_EXITCODE(3, 0));
    run_fixture_run_to(fixture, 50000); /* renewed meanwhile */
    fake_command_started(100);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_string_equal(journal_text(),
                        STARTED "42850 renew within 5000\n"
                                "42850 deadline term 214250 kill 219250\n"
                                "50000 guard for nightly\n"
                                "50000 hold\n"
                                "50000 start fence 7 slot - term 214250 kill 219250 grace 5000 "
                                "again\n"
                                "50000 dismiss\n"
                                "50000 release succeeded 0 within 2500\n"
                                "50001 dismiss\n"
                                "50001 finished 0\n");
    assert_events("debug claim_won\nwarn attempt_failed\ndebug run_finished\n");
}

static void retries__all_fail__the_last_status_is_the_runs(void **state)
{
    struct run_fixture *fixture = *state;
    fixture->job.retries = 1;
    fixture->job.retry_delay_ms = 1000;
    run_fixture_start_running(fixture);
    run_fixture_end_command(W_EXITCODE(3, 0));
    run_fixture_run_to(fixture, 1000);
    fake_command_started(100);
    run_fixture_end_command(W_EXITCODE(4, 0));
    run_fixture_run_to_end(fixture);
    assert_events("debug claim_won\nwarn attempt_failed\nwarn run_failed\ndebug run_finished\n");
    assert_int_equal(fixture->run.exit_code, 4);
}

static void retries__stopped_in_the_pause__released_as_stopped(void **state)
{
    struct run_fixture *fixture = *state;
    fixture->job.retries = 1;
    fixture->job.retry_delay_ms = 1000;
    run_fixture_start_running(fixture);
    run_fixture_end_command(W_EXITCODE(3, 0));
    run_signal(&fixture->run, SIGTERM);
    run_fixture_run_to_end(fixture);
    assert_int_equal(fixture->run.record.outcome, OUTCOME_STOPPED);
    assert_int_equal(fixture->run.attempt, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(retries__command_fails_once__started_again_under_the_same_lease),
        CASE(retries__all_fail__the_last_status_is_the_runs),
        CASE(retries__stopped_in_the_pause__released_as_stopped),
        CASE(run__command_succeeds__released_and_0),
        CASE(run__command_fails__its_status),
        CASE(run__command_killed_by_another__128_and_signal),
        CASE(run__long__renewed_until_the_tree_is_empty),
        CASE(run__not_started__127_and_nothing_left),
        CASE(run__leftovers__told_and_released_after_them),
        CASE(run__timeout__term_then_grace_and_124),
        CASE(run__stop_signal__passed_on_and_128_and_signal),
        CASE(run__second_stop_signal__passed_on_and_first_is_the_cause),
        CASE(run__grace_longer_than_the_renewals__renewed_while_stopping),
        CASE(run__other_signals__passed_on),
        CASE(run__time_up_while_stopping__is_stopped_not_timed_out),
        CASE(run__time_up_while_leftovers_are_ended__is_a_success),
        CASE(run__time_up_while_leftovers_are_waited_for__timed_out),
    };
    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
