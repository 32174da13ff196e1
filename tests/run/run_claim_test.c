/* SPDX-License-Identifier: ISC */
#include "run_fixture.h"

/* ---- no lease ---------------------------------------------------------------------------------
 */

static const struct no_lease {
    const char *what;
    struct fake_answer answer;
    bool is_once;
    enum once_per once_per;
    int exit_code;
    const char *events;
} no_leases[] = {
    {.what = "held",
     .answer = {.claim = CLAIM_HELD, .other = "there/8/b", .wait_ms = 90000},
     .exit_code = 75,
     .events = "info claim_held\n"},
    {.what = "done",
     .answer = {.claim = CLAIM_DONE},
     .once_per = ONCE_PER_DAY,
     .exit_code = 75,
     .events = "debug slot_done\n"},
    {.what = "succeeded once",
     .answer = {.claim = CLAIM_DONE},
     .is_once = true,
     .exit_code = 0,
     .events = "debug slot_done\n"},
    {.what = "missed, first to tell",
     .answer = {.claim = CLAIM_MISSED, .is_first_to_tell = true},
     .once_per = ONCE_PER_MINUTE,
     .exit_code = 75,
     .events = "error slot_missed\n"},
    {.what = "missed, told by another",
     .answer = {.claim = CLAIM_MISSED},
     .once_per = ONCE_PER_MINUTE,
     .exit_code = 75,
     .events = "info slot_missed\n"},
    {.what = "refused",
     .answer = {.fate = FAKE_FAILS, .failure = FAILURE_REFUSED, .fault = "password"},
     .exit_code = 69,
     .events = "error claim_failed\n"},
    {.what = "no schema",
     .answer = {.fate = FAKE_FAILS, .failure = FAILURE_SCHEMA, .fault = "run init"},
     .exit_code = 78,
     .events = "error claim_failed\n"},
    {.what = "no rights",
     .answer = {.fate = FAKE_FAILS, .failure = FAILURE_RIGHTS, .fault = "grant"},
     .exit_code = 78,
     .events = "error claim_failed\n"},
    {.what = "no store",
     .answer = {.fate = FAKE_FAILS,
                .is_unsent = true,
                .failure = FAILURE_UNREACHABLE,
                .fault = "connection refused",
                .is_repeated = true},
     .exit_code = 69,
     .events = "error claim_failed\n"},
};

static void run__no_lease__not_started_and_told_once(void **state)
{
    struct run_fixture *fixture = *state;
    for (size_t i = 0; i < CASE_COUNT(no_leases); i++) {
        const struct no_lease *row = &no_leases[i];
        fixture->job.is_once = row->is_once;
        fixture->job.once_per = row->once_per;
        run_fixture_play(STORE_CLAIM, &row->answer);
        run_fixture_start(fixture);
        run_fixture_run_to_end(fixture);
        run_fixture_read_log(fixture);
        if (fixture->run.exit_code != row->exit_code || strcmp(fixture->events, row->events) != 0)
            fail_msg("%s: exit %d\n%s", row->what, fixture->run.exit_code, fixture->lines);
        assert_int_equal(journal_count("start"), 0);
        assert_int_equal(journal_count("dismiss"), 1);
        assert_int_equal(journal_count("free") + journal_count("undo"), 0);
        void *again = fixture;
        run_fixture_tear_down(&again);
        run_fixture_set_up(&again);
    }
}

static void run__store_lost_while_claiming__told_by_the_claim_alone(void **state)
{
    static const struct fake_answer unreachable[] = {{.fate = FAKE_FAILS,
                                                      .is_unsent = true,
                                                      .failure = FAILURE_UNREACHABLE,
                                                      .fault = "connection refused",
                                                      .is_repeated = true}};
    struct run_fixture *fixture = *state;
    run_fixture_play(STORE_CLAIM, unreachable);
    run_fixture_start(fixture);
    fake_store_lose("connection refused");
    run_fixture_run_to_end(fixture);
    assert_events("error claim_failed\n");
    run_fixture_assert_logged(fixture, "msg=\"not run: no lease within 1m: connection refused\"");
}

static void run__waits_for_the_holder__told_once_then_won(void **state)
{
    struct run_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_HELD, .other = "there/8/b", .wait_ms = 90000},
                       {.claim = CLAIM_HELD, .other = "there/8/b", .wait_ms = 89000},
                       {.claim = CLAIM_WON, .fence = 8, .abandoned = "r0", .other = "there/8/b"});
    run_fixture_play(STORE_RELEASE, run_fixture_released);
    fixture->job.wait_ms = JOB_WAIT_FOREVER;
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, 2000);
    fake_command_started(99);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_journal(ASKED "1000 claim #1 within 5000\n"
                         "2000 claim #1 within 5000\n"
                         "2000 start fence 8 slot - term 173400 kill 178400 grace 5000\n"
                         "2000 release succeeded 0 within 2500\n"
                         "2001 dismiss\n"
                         "2001 finished 0\n");
    assert_events("info claim_waits\n"
                  "debug claim_won\n"
                  "error run_abandoned\n"
                  "debug run_finished\n");
    run_fixture_assert_logged(fixture, "fence=7 run_id=r0 holder=there/8/b outcome=abandoned");
}

static void run__early_slot__told_once_and_started_with_its_slot(void **state)
{
    struct run_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_EARLY, .wait_ms = 1500},
                       {.claim = CLAIM_EARLY, .wait_ms = 10}, {.claim = CLAIM_WON, .fence = 7});
    run_fixture_play(STORE_RELEASE, run_fixture_released);
    fixture->job.once_per = ONCE_PER_MINUTE;
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, 1510);
    fake_command_started(99);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("1510 start fence 7 slot 2026-01-01T10:00:00Z term"), 1);
    assert_int_equal(fake_store_last_claim()->start_within_ms, 120000);
    assert_true(fake_store_last_claim()->slot_us == JOURNAL_START_WALL_US);
    assert_events("info slot_early\n"
                  "debug claim_won\n"
                  "debug run_finished\n");
}

static void run__early_by_more_than_a_minute__clock_ahead_told(void **state)
{
    struct run_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_EARLY, .wait_ms = 60001},
                       {.claim = CLAIM_DONE});
    fixture->job.once_per = ONCE_PER_HOUR;
    run_fixture_start(fixture);
    run_fixture_run_to_end(fixture);
    assert_events("error clock_ahead\n"
                  "debug slot_done\n");
}

static void run__signal_while_claiming__undone_and_128_and_signal(void **state)
{
    static const struct fake_answer undone[] = {{.after_ms = 2}};
    static const struct fake_answer slow[] = {{.claim = CLAIM_WON, .fence = 7, .after_ms = 100}};
    struct run_fixture *fixture = *state;
    run_fixture_play(STORE_CLAIM, slow);
    run_fixture_play(STORE_UNDO, undone);
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, 50);
    run_signal(&fixture->run, SIGINT);
    run_signal(&fixture->run, SIGTERM);
    run_fixture_run_to_end(fixture);
    assert_journal(ASKED "100 undo within 400\n"
                         "102 dismiss\n"
                         "102 finished 130\n");
    assert_events("");
}

static void run__claim_cannot_be_undone__guard_goes_on_trying(void **state)
{
    static const struct fake_answer silent[] = {{.fate = FAKE_SILENT}};
    struct run_fixture *fixture = *state;
    run_fixture_play(STORE_CLAIM, silent);
    run_fixture_play(STORE_UNDO, silent);
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, 50);
    run_signal(&fixture->run, SIGTERM);
    run_fixture_run_to_end(fixture);
    assert_journal(ASKED "450 undo within 400\n"
                         "850 finished 143\n");
}

static void run__signal_before_the_first_turn__cancelled(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start(fixture);
    run_signal(&fixture->run, SIGHUP);
    run_fixture_run_to_end(fixture);
    assert_journal(ASKED "0 dismiss\n"
                         "0 finished 129\n");
}

static void run__guard_cannot_start__fails_and_leaves_nothing(void **state)
{
    struct run_fixture *fixture = *state;
    struct error err;
    fake_command_reset("no guard");
    assert_false(run_fixture_try(fixture, &err));
    assert_string_equal(err.text, "no guard");
    assert_journal("");
}

static void run__store_cannot_be_opened__fails_and_leaves_nothing(void **state)
{
    struct run_fixture *fixture = *state;
    struct error err;
    fake_store_reset("no module");
    assert_false(run_fixture_try(fixture, &err));
    assert_string_equal(err.text, "no module");
    assert_journal("");
}

static void run__store_has_a_note__told(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    fake_store_note("timeline 2");
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_events("debug claim_won\n"
                  "warn store_note\n"
                  "debug run_finished\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(run__no_lease__not_started_and_told_once),
        CASE(run__store_lost_while_claiming__told_by_the_claim_alone),
        CASE(run__waits_for_the_holder__told_once_then_won),
        CASE(run__early_slot__told_once_and_started_with_its_slot),
        CASE(run__early_by_more_than_a_minute__clock_ahead_told),
        CASE(run__signal_while_claiming__undone_and_128_and_signal),
        CASE(run__claim_cannot_be_undone__guard_goes_on_trying),
        CASE(run__signal_before_the_first_turn__cancelled),
        CASE(run__guard_cannot_start__fails_and_leaves_nothing),
        CASE(run__store_cannot_be_opened__fails_and_leaves_nothing),
        CASE(run__store_has_a_note__told),
    };
    return cmocka_run_group_tests_name("run_claim", tests, NULL, NULL);
}
