/* SPDX-License-Identifier: ISC */
#include "run_fixture.h"

/* ---- the terminal ------------------------------------------------------------------------------
 */

static void start_on_terminal(struct run_fixture *fixture)
{
    fake_terminal = (struct fake_terminal){
        .exists = true, .is_ours = true, .should_give = true, .stopped_ms = 20000};
    run_fixture_start_running(fixture);
    fake_terminal.is_ours = false; /* the command has it */
}

#define STARTED_ON_TERMINAL                                                                        \
    ASKED "0 start fence 7 slot - term 171400 kill 176400 grace 5000 foreground\n"

static void suspend__ctrl_z_and_fg__stops_and_goes_on(void **state)
{
    struct run_fixture *fixture = *state;
    start_on_terminal(fixture);
    run_fixture_run_to(fixture, 1000);
    fake_terminal.is_ours = true; /* what the shell's fg will do */
    fake_command_stopped(SIGTSTP);
    run_fixture_run_to(fixture, 21001);
    fake_terminal.is_ours = false;
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED_ON_TERMINAL "1000 take back from 99\n"
                                       "1000 pause\n"
                                       "1000 stop ourselves\n"
                                       "21000 continue foreground\n"
                                       "21000 renew within 5000\n"
                                       "21000 deadline term 192400 kill 197400\n"
                                       "21001 take back from 99\n"
                                       "21001 release succeeded 0 within 2500\n"
                                       "21002 dismiss\n"
                                       "21002 finished 0\n");
    assert_events("debug claim_won\n"
                  "warn terminal_stop\n"
                  "debug run_finished\n");
    run_fixture_assert_logged(fixture, "continue within 2m 50s");
}

static void suspend__longer_than_the_lease__command_is_not_continued(void **state)
{
    struct run_fixture *fixture = *state;
    start_on_terminal(fixture);
    fake_terminal.stopped_ms = 200000;
    run_fixture_run_to(fixture, 1000);
    fake_command_stopped(SIGTSTP);
    run_fixture_run_to(fixture, 201000);
    fake_command_exited(W_EXITCODE(0, SIGKILL), GUARD_KILLER_DEADLINE);
    fake_command_empty(GUARD_KILLER_DEADLINE);
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("continue"), 0);
    assert_int_equal(journal_count("renew"), 0);
    assert_int_equal(journal_count("finished 76"), 1);
    assert_events("debug claim_won\n"
                  "warn terminal_stop\n"
                  "error lease_lost\n"
                  "debug run_finished\n");
}

static void suspend__renewal_is_out__waits_for_it(void **state)
{
    static const struct fake_answer slow[] = {{.after_ms = 300, .is_repeated = true}};
    struct run_fixture *fixture = *state;
    start_on_terminal(fixture);
    run_fixture_play(STORE_RENEW, slow);
    run_fixture_run_to(fixture, EVERY_MS + 100);
    fake_command_stopped(SIGTSTP);
    assert_int_equal(journal_count("stop ourselves"), 0);
    run_fixture_run_to(fixture, EVERY_MS + 300);
    assert_int_equal(journal_count("43150 stop ourselves"), 1);
    run_fixture_run_to(fixture, EVERY_MS + 30000);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
}

static void suspend__renewal_fails_and_is_not_told__stops_all_the_same(void **state)
{
    static const struct fake_answer fails[] = {{.fate = FAKE_FAILS,
                                                .failure = FAILURE_UNREACHABLE,
                                                .fault = "connection lost",
                                                .after_ms = 300,
                                                .is_repeated = true}};
    struct run_fixture *fixture = *state;
    start_on_terminal(fixture);
    run_fixture_play(STORE_RENEW, fails);
    run_fixture_run_to(fixture,
                       EVERY_MS + 400); /* the first failure was told, the second is under way */
    assert_true(renew_is_asking(&fixture->run.renew));
    fake_command_stopped(SIGTSTP);
    run_fixture_run_to(fixture, EVERY_MS + 1000);
    assert_int_equal(journal_count("stop ourselves"), 1);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
}

static void suspend__ended_meanwhile__does_not_stop(void **state)
{
    static const struct fake_answer slow[] = {{.after_ms = 300, .is_repeated = true}};
    struct run_fixture *fixture = *state;
    start_on_terminal(fixture);
    run_fixture_play(STORE_RENEW, slow);
    run_fixture_run_to(fixture, EVERY_MS + 100);
    fake_command_stopped(SIGTSTP);
    run_signal(&fixture->run, SIGTERM);
    run_fixture_run_to(fixture, EVERY_MS + 1000);
    fake_command_stopped(SIGTSTP); /* it may well, in its handler */
    run_fixture_end_command(W_EXITCODE(0, SIGTERM));
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("stop ourselves"), 0);
    assert_int_equal(journal_count("finished 143"), 1);
}

static void suspend__wants_the_terminal_we_have__gets_it(void **state)
{
    struct run_fixture *fixture = *state;
    fake_terminal = (struct fake_terminal){.exists = true, .is_ours = true};
    run_fixture_start_running(fixture);
    fake_command_stopped(SIGTTIN);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "0 continue foreground\n"
                           "0 take back from 99\n"
                           "0 release succeeded 0 within 2500\n"
                           "1 dismiss\n"
                           "1 finished 0\n");
    assert_events("debug claim_won\n"
                  "debug run_finished\n");
}

static void suspend__no_terminal__left_to_who_stopped_it(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    fake_command_stopped(SIGTSTP);
    fake_command_stopped(SIGSTOP);
    run_fixture_run_to(fixture, 10);
    run_signal(&fixture->run, SIGCONT);
    run_fixture_run_to(fixture, 20);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "10 continue\n"
                           "10 renew within 5000\n"
                           "10 deadline term 171410 kill 176410\n"
                           "20 release succeeded 0 within 2500\n"
                           "21 dismiss\n"
                           "21 finished 0\n");
}

static void suspend__while_a_claim_is_out__does_not_stop(void **state)
{
    static const struct fake_answer slow[] = {{.claim = CLAIM_DONE, .after_ms = 100}};
    struct run_fixture *fixture = *state;
    run_fixture_play(STORE_CLAIM, slow);
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, 50);
    run_signal(&fixture->run, SIGTSTP);
    run_signal(&fixture->run, SIGCONT); /* nothing to continue */
    run_fixture_run_to_end(fixture);
    assert_journal(ASKED "100 dismiss\n"
                         "100 finished 75\n");
}

static void suspend__won_meanwhile__stops_the_command(void **state)
{
    static const struct fake_answer slow[] = {{.claim = CLAIM_WON, .after_ms = 100}};
    struct run_fixture *fixture = *state;
    run_fixture_play(STORE_CLAIM, slow);
    run_fixture_play(STORE_RELEASE, run_fixture_released);
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, 50);
    run_signal(&fixture->run, SIGTSTP);
    run_fixture_run_to(fixture, 99);
    assert_int_equal(journal_count("signal"), 0);
    run_fixture_run_to(fixture, 120);
    assert_int_equal(journal_count("signal TSTP"), 1);
    assert_int_equal(journal_count("stop ourselves"), 0); /* that is for when it has stopped */
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
}

static void suspend__while_waiting_for_a_holder__stops_ourselves(void **state)
{
    static const struct fake_answer held[] = {{.claim = CLAIM_HELD, .is_repeated = true}};
    struct run_fixture *fixture = *state;
    fixture->job.wait_ms = 5000;
    run_fixture_play(STORE_CLAIM, held);
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, 500);
    run_signal(&fixture->run, SIGTSTP);
    assert_int_equal(journal_count("500 stop ourselves"), 1);
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("finished 75"), 1);
}

static void suspend__stopped_itself__counts_when_it_has_the_terminal(void **state)
{
    struct run_fixture *fixture = *state;
    start_on_terminal(fixture);
    fake_command_stopped(SIGSTOP);
    assert_int_equal(journal_count("stop ourselves"), 0);
    fake_terminal.is_at_command = true;
    fake_command_stopped(SIGSTOP);
    assert_int_equal(journal_count("stop ourselves"), 1);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
}

static void suspend__nobody_could_continue_us__command_goes_on(void **state)
{
    struct run_fixture *fixture = *state;
    start_on_terminal(fixture);
    fake_terminal.is_orphaned = true;
    fake_command_stopped(SIGTSTP);
    assert_int_equal(journal_count("stop ourselves"), 0);
    assert_int_equal(journal_count("continue foreground"), 1);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_events("debug claim_won\n"
                  "debug run_finished\n");
}

static void suspend__stopped_while_it_is_ended__goes_on(void **state)
{
    struct run_fixture *fixture = *state;
    start_on_terminal(fixture);
    run_signal(&fixture->run, SIGTERM);
    fake_command_stopped(SIGTSTP);
    assert_int_equal(journal_count("continue foreground"), 1);
    run_fixture_end_command(W_EXITCODE(0, SIGTERM));
    run_fixture_run_to_end(fixture);
}

static void suspend__ctrl_c_with_the_terminal__is_a_stop_that_was_asked_for(void **state)
{
    struct run_fixture *fixture = *state;
    start_on_terminal(fixture);
    run_fixture_end_command(W_EXITCODE(0, SIGINT));
    run_fixture_run_to_end(fixture);
    assert_true(fixture->run.is_interrupted);
    assert_int_equal(journal_count("release stopped 130"), 1);
    assert_int_equal(journal_count("restore modes"), 1);
    assert_int_equal(journal_count("finished 130"), 1);
}

static void suspend__terminal_hangs_up__is_a_stop_that_was_asked_for(void **state)
{
    struct run_fixture *fixture = *state;
    start_on_terminal(fixture);
    fake_terminal.is_gone = true;
    run_fixture_end_command(W_EXITCODE(0, SIGHUP));
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("release stopped 129"), 1);
}

static void suspend__somebody_sends_hup_to_the_command__it_failed(void **state)
{
    struct run_fixture *fixture = *state;
    start_on_terminal(fixture);
    run_fixture_end_command(W_EXITCODE(0, SIGHUP));
    run_fixture_run_to_end(fixture);
    assert_false(fixture->run.is_interrupted);
    assert_int_equal(journal_count("release failed 129"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(suspend__ctrl_z_and_fg__stops_and_goes_on),
        CASE(suspend__longer_than_the_lease__command_is_not_continued),
        CASE(suspend__renewal_is_out__waits_for_it),
        CASE(suspend__renewal_fails_and_is_not_told__stops_all_the_same),
        CASE(suspend__ended_meanwhile__does_not_stop),
        CASE(suspend__wants_the_terminal_we_have__gets_it),
        CASE(suspend__no_terminal__left_to_who_stopped_it),
        CASE(suspend__while_a_claim_is_out__does_not_stop),
        CASE(suspend__won_meanwhile__stops_the_command),
        CASE(suspend__while_waiting_for_a_holder__stops_ourselves),
        CASE(suspend__stopped_itself__counts_when_it_has_the_terminal),
        CASE(suspend__nobody_could_continue_us__command_goes_on),
        CASE(suspend__stopped_while_it_is_ended__goes_on),
        CASE(suspend__ctrl_c_with_the_terminal__is_a_stop_that_was_asked_for),
        CASE(suspend__terminal_hangs_up__is_a_stop_that_was_asked_for),
        CASE(suspend__somebody_sends_hup_to_the_command__it_failed),
    };
    return cmocka_run_group_tests_name("run_suspend", tests, NULL, NULL);
}
