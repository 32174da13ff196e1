/* SPDX-License-Identifier: ISC */
#include "run_fixture.h"

/* ---- lost ------------------------------------------------------------------------------------ */

static void run__taken_over__killed_at_once_and_76(void **state)
{
    static const struct fake_answer taken[] = {
        {.renew = RENEW_LOST, .reason = LOST_TAKEN, .other = "there/8/b"}};
    static const struct fake_answer not_ours[] = {{.release = RELEASE_NOT_OURS, .after_ms = 1}};
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_play(STORE_RENEW, taken);
    run_fixture_play(STORE_RELEASE, not_ours);
    run_fixture_run_to(fixture, EVERY_MS + 10);
    fake_command_exited(W_EXITCODE(0, SIGKILL), GUARD_KILLER_STOP);
    fake_command_empty(GUARD_KILLER_STOP);
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "42850 renew within 5000\n"
                           "42850 stop KILL kill 42850\n"
                           "42860 release lost 137 within 2500\n"
                           "42861 dismiss\n"
                           "42861 finished 76\n");
    assert_events("debug claim_won\n"
                  "error lease_lost\n"
                  "debug run_finished\n");
    run_fixture_assert_logged(fixture, "holder=there/8/b");
}

static void run__lost_to_nobody__term_then_kill_after_the_loss_grace(void **state)
{
    static const enum lost_reason reasons[] = {LOST_REVOKED, LOST_EXPIRED, LOST_GONE};
    struct run_fixture *fixture = *state;
    for (size_t i = 0; i < CASE_COUNT(reasons); i++) {
        const struct fake_answer lost[] = {{.renew = RENEW_LOST, .reason = reasons[i]}};
        run_fixture_start_running(fixture);
        run_fixture_play(STORE_RENEW, lost);
        run_fixture_run_to(fixture, EVERY_MS + 10);
        run_fixture_end_command(W_EXITCODE(0, SIGTERM));
        run_fixture_run_to_end(fixture);
        assert_journal(STARTED "42850 renew within 5000\n"
                               "42850 stop TERM kill 47850\n"
                               "42860 release lost 143 within 2500\n"
                               "42861 dismiss\n"
                               "42861 finished 76\n");
        assert_events("debug claim_won\n"
                      "error lease_lost\n"
                      "debug run_finished\n");
        void *again = fixture;
        run_fixture_tear_down(&again);
        run_fixture_set_up(&again);
    }
}

static void run__store_down__out_of_time_and_killed_at_the_deadline(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_play(STORE_RENEW, run_fixture_down);
    run_fixture_play(STORE_RELEASE, run_fixture_down);
    run_fixture_run_to(fixture, 1000);
    fake_store_lose("connection lost");
    fake_store_lose("connection refused"); /* one outage, one line */
    run_fixture_run_to(fixture, 176400);
    assert_int_equal(journal_count("171400 stop TERM kill 176400\n"), 1);
    assert_int_equal(journal_count("stop"), 1);
    fake_command_exited(W_EXITCODE(0, SIGKILL), GUARD_KILLER_DEADLINE);
    fake_command_empty(GUARD_KILLER_DEADLINE);
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("release lost 137"), journal_count("release"));
    assert_int_equal(journal_count("181400 finished 76\n"), 1);
    assert_events("debug claim_won\n"
                  "warn store_lost\n"
                  "warn renew_failed\n"
                  "warn renew_failed\n"
                  "error lease_lost\n"
                  "error release_failed\n"
                  "debug run_finished\n");
    run_fixture_assert_logged(fixture, "no renewal came through for 2m 51s: connection lost");
    run_fixture_assert_logged(fixture, "the outcome is not recorded: connection lost");
}

static void run__store_back_in_time__renewed_at_once_and_told(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_run_to(fixture, 1000);
    fake_store_lose("connection lost");
    run_fixture_run_to(fixture, 3000);
    fake_store_restore();
    fake_store_restore();
    run_fixture_run_to(fixture, 4000);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "3000 renew within 5000\n"
                           "3000 deadline term 174400 kill 179400\n"
                           "4000 release succeeded 0 within 2500\n"
                           "4001 dismiss\n"
                           "4001 finished 0\n");
    assert_events("debug claim_won\n"
                  "warn store_lost\n"
                  "info store_restored\n"
                  "debug run_finished\n");
}

static void run__guard_saw_the_deadline_first__lost_told_once(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_run_to(fixture, 1000);
    fake_clock_stop_for(300000); /* we were stopped, the guard was not */
    fake_command_exited(W_EXITCODE(0, SIGTERM), GUARD_KILLER_DEADLINE);
    fake_command_empty(GUARD_KILLER_DEADLINE);
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "301000 release lost 143 within 2500\n"
                           "301001 dismiss\n"
                           "301001 finished 76\n");
    assert_events("debug claim_won\n"
                  "error lease_lost\n"
                  "debug run_finished\n");
}

static void run__taken_after_out_of_time__told_once_and_killed_at_once(void **state)
{
    static const struct fake_answer late[] = {
        {.renew = RENEW_LOST, .reason = LOST_TAKEN, .other = "there/8/b", .after_ms = 4000}};
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_play(STORE_RENEW, late);
    run_fixture_run_to(fixture, EVERY_MS + 10); /* asked */
    fake_clock_stop_for(171400 - EVERY_MS - 10);
    fixture->run.out_of_time.ring(&fixture->run.out_of_time); /* timers come before sockets */
    run_fixture_run_to(fixture, 171400 + 10);
    fake_command_exited(W_EXITCODE(0, SIGKILL), GUARD_KILLER_STOP);
    fake_command_empty(GUARD_KILLER_STOP);
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "42850 renew within 5000\n"
                           "171400 stop TERM kill 176400\n"
                           "171400 stop KILL kill 171400\n"
                           "171410 release lost 137 within 2500\n"
                           "171411 dismiss\n"
                           "171411 finished 76\n");
    assert_events("debug claim_won\n"
                  "error lease_lost\n"
                  "debug run_finished\n");
}

static void run__renewed_after_out_of_time__ends_all_the_same(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_play(STORE_RENEW, run_fixture_down);
    run_fixture_run_to(fixture, 171399);
    run_fixture_play(STORE_RENEW, run_fixture_renewed);
    run_fixture_run_to(fixture, 171400);
    fake_store_restore();
    renew_now(&fixture->run.renew);
    run_fixture_run_to(fixture, 173000);
    assert_int_equal(journal_count("stop"), 1);
    run_fixture_end_command(W_EXITCODE(0, SIGTERM));
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("release lost 143"), 1);
    assert_int_equal(journal_count("finished 76\n"), 1);
}

/* ---- guard and release ----------------------------------------------------------------------- */

static void run__guard_died__told_once_and_released_when_empty(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_run_to(fixture, 30);
    fake_command_guard_died();
    run_fixture_run_to(fixture, EVERY_MS + 1);
    assert_int_equal(journal_count("release"), 0); /* and renewed until then */
    fake_command_empty(GUARD_KILLER_STOP);
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "42850 renew within 5000\n"
                           "42850 deadline term 214250 kill 219250\n"
                           "42851 release failed 137 within 2500\n"
                           "42852 dismiss\n"
                           "42852 finished 137\n");
    assert_events("debug claim_won\n"
                  "error guard_died\n"
                  "debug run_finished\n");
}

static void run__guard_died_then_stop_signal__failed(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    fake_command_guard_died();
    run_signal(&fixture->run, SIGTERM);
    fake_command_empty(GUARD_KILLER_STOP);
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("release failed 137"), 1);
    assert_int_equal(journal_count("finished 137"), 1);
}

static void run__guard_died_after_the_tree__changes_nothing(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_end_command(W_EXITCODE(3, 0));
    fake_command_guard_died();
    fake_command_empty(GUARD_KILLER_NONE);
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "0 release failed 3 within 2500\n"
                           "1 dismiss\n"
                           "1 finished 3\n");
    assert_events("debug claim_won\n"
                  "warn run_failed\n"
                  "debug run_finished\n");
}

static void run__guard_died_while_claiming__cancelled_and_71(void **state)
{
    static const struct fake_answer undone[] = {{.after_ms = 2}};
    static const struct fake_answer slow[] = {{.claim = CLAIM_WON, .fence = 7, .after_ms = 100}};
    struct run_fixture *fixture = *state;
    run_fixture_play(STORE_CLAIM, slow);
    run_fixture_play(STORE_UNDO, undone);
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, 50);
    fake_command_guard_died();
    fake_command_empty(GUARD_KILLER_NONE);
    run_fixture_run_to_end(fixture);
    assert_journal("0 guard for nightly\n"
                   "0 let go\n"
                   "0 hold\n"
                   "0 claim #1 within 5000\n"
                   "100 undo within 400\n"
                   "102 dismiss\n"
                   "102 finished 71\n");
    assert_events("error guard_died\n");
    run_fixture_assert_logged(fixture, "not started");
}

static void run__release_fails__told_and_status_is_the_commands(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_play(STORE_RELEASE, run_fixture_down);
    run_fixture_run_to(fixture, 10);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("5010 finished 0\n"), 1);
    assert_events("debug claim_won\n"
                  "error release_failed\n"
                  "debug run_finished\n");
    run_fixture_assert_logged(fixture, "runs out in 2m 54s");
    run_fixture_assert_logged(fixture, "outcome=succeeded status=0");
}

static void run__signal_while_releasing__gives_up_sooner(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_play(STORE_RELEASE, run_fixture_down);
    run_fixture_run_to(fixture, 10);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to(fixture, 500);
    run_signal(&fixture->run, SIGTERM);
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("1500 finished 0\n"), 1);
}

static void run__release_finds_anothers_row__lost_and_76(void **state)
{
    static const struct fake_answer not_ours[] = {{.release = RELEASE_NOT_OURS, .after_ms = 1}};
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_play(STORE_RELEASE, not_ours);
    run_fixture_run_to(fixture, 10);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "10 release succeeded 0 within 2500\n"
                           "11 dismiss\n"
                           "11 finished 76\n");
    assert_events("debug claim_won\n"
                  "error lease_lost\n"
                  "debug run_finished\n");
}

static void run__renewal_hangs_at_the_end__release_gets_its_turn(void **state)
{
    static const struct fake_answer silent[] = {{.fate = FAKE_SILENT}};
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_play(STORE_RENEW, silent);
    run_fixture_run_to(fixture, EVERY_MS + 100);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "42850 renew within 5000\n"
                           "42950 release succeeded 0 within 2500\n"
                           "43951 dismiss\n" /* a second for the renewal, then this */
                           "43951 finished 0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(run__taken_over__killed_at_once_and_76),
        CASE(run__lost_to_nobody__term_then_kill_after_the_loss_grace),
        CASE(run__store_down__out_of_time_and_killed_at_the_deadline),
        CASE(run__store_back_in_time__renewed_at_once_and_told),
        CASE(run__guard_saw_the_deadline_first__lost_told_once),
        CASE(run__taken_after_out_of_time__told_once_and_killed_at_once),
        CASE(run__renewed_after_out_of_time__ends_all_the_same),
        CASE(run__guard_died__told_once_and_released_when_empty),
        CASE(run__guard_died_then_stop_signal__failed),
        CASE(run__guard_died_after_the_tree__changes_nothing),
        CASE(run__guard_died_while_claiming__cancelled_and_71),
        CASE(run__release_fails__told_and_status_is_the_commands),
        CASE(run__signal_while_releasing__gives_up_sooner),
        CASE(run__release_finds_anothers_row__lost_and_76),
        CASE(run__renewal_hangs_at_the_end__release_gets_its_turn),
    };
    return cmocka_run_group_tests_name("run_lost", tests, NULL, NULL);
}
