/* SPDX-License-Identifier: ISC */
#include "claim_fixture.h"

#include <string.h>

/* ---- faults -------------------------------------------------------------------------------- */

static void claim__store_down_then_up__won(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, REFUSED_CONNECTION, REFUSED_CONNECTION, WON(3, 1));
    claim_fixture_start(fixture, PLAIN);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "100 claim #1 within 5000\n"
                   "300 claim #1 within 5000\n"
                   "301 won\n");
}

static void claim__read_only_server__asks_again(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(
        STORE_CLAIM,
        {.fate = FAKE_FAILS, .after_ms = 1, .failure = FAILURE_READ_ONLY, .fault = "a standby"},
        WON(3, 1));
    claim_fixture_start(fixture, PLAIN);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "101 claim #1 within 5000\n"
                   "102 won\n");
}

static void claim__final_failure_first__ends_at_once(void **state)
{
    static const enum store_failure finals[] = {FAILURE_REFUSED, FAILURE_SCHEMA, FAILURE_RIGHTS,
                                                FAILURE_OTHER};
    struct claim_fixture *fixture = *state;
    for (size_t i = 0; i < CASE_COUNT(finals); i++) {
        journal_start();
        fixture->finished_count = 0;
        const struct fake_answer answer = {.fate = FAKE_FAILS, .failure = finals[i], .fault = "no"};
        fake_store_answers(STORE_CLAIM, &answer, 1);
        claim_fixture_start(fixture, WAITING);
        claim_fixture_run_to_end(fixture);
        assert_journal("0 claim #1 within 5000\n"
                       "0 failed\n");
        assert_int_equal(fixture->claim.failure, finals[i]);
        assert_string_equal(fixture->claim.error.text, "no");
        claim_close(&fixture->claim, &fixture->handles);
        uv_run(&fixture->loop, UV_RUN_NOWAIT);
    }
    fixture->is_started = false;
}

static void claim__final_failure_after_an_answer__goes_on(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(5000, 0),
                       {.fate = FAKE_FAILS, .failure = FAILURE_REFUSED, .fault = "no"}, WON(4, 0));
    claim_fixture_start(fixture, WAITING);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "0 waits for them, 5000 left\n"
                   "1000 claim #1 within 5000\n"
                   "1100 claim #1 within 5000\n"
                   "1100 won\n");
}

static void claim__store_fails_while_waiting__ends_failed_not_held(void **state)
{
    struct claim_fixture *fixture = *state;
    struct fake_answer answers[] = {HELD(5000, 0), REFUSED_CONNECTION};
    answers[1].is_repeated = true;
    fake_store_answers(STORE_CLAIM, answers, 2);
    claim_fixture_start(fixture, (struct claim_spec){.may_wait = true, .give_up_ms = 3000});
    claim_fixture_run_to_end(fixture);
    assert_int_equal(fixture->result, CLAIM_RESULT_FAILED);
    assert_int_equal(fixture->finished_ms, 3000);
}

static void claim__conflicts__repeated_within_a_tenth_of_a_second(void **state)
{
    static const struct fake_answer conflict = {
        .fate = FAKE_FAILS, .failure = FAILURE_CONFLICT, .fault = "deadlock", .is_repeated = true};
    struct claim_fixture *fixture = *state;
    fake_store_answers(STORE_CLAIM, &conflict, 1);
    claim_fixture_start(fixture, (struct claim_spec){.give_up_ms = 330});
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 330\n"
                   "1 claim #1 within 329\n"
                   "3 claim #1 within 327\n"
                   "7 claim #1 within 323\n"
                   "15 claim #1 within 315\n"
                   "31 claim #1 within 299\n"
                   "63 claim #1 within 267\n"
                   "127 claim #1 within 203\n"
                   "227 claim #1 within 103\n"
                   "327 claim #1 within 100\n"
                   "330 failed\n"); /* answered, so nothing is given back */
    assert_int_equal(fixture->claim.failure, FAILURE_CONFLICT);
}

static void claim__raced__looks_again_soon(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_RACED}, {.claim = CLAIM_RACED},
                       {.claim = CLAIM_RACED}, {.claim = CLAIM_RACED}, HELD(5000, 0));
    fake_random_least(true);
    claim_fixture_start(fixture, PLAIN);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "1 claim #1 within 5000\n"
                   "2 claim #1 within 5000\n"
                   "4 claim #1 within 5000\n"
                   "8 claim #1 within 5000\n"
                   "8 held\n");
}

static void claim__raced_until_the_end__fails_with_a_fault_of_its_own(void **state)
{
    static const struct fake_answer raced = {.claim = CLAIM_RACED, .is_repeated = true};
    struct claim_fixture *fixture = *state;
    fake_store_answers(STORE_CLAIM, &raced, 1);
    claim_fixture_start(fixture, (struct claim_spec){.give_up_ms = 500});
    claim_fixture_run_to_end(fixture);
    assert_int_equal(fixture->result, CLAIM_RESULT_FAILED);
    assert_int_equal(fixture->claim.failure, FAILURE_CONFLICT);
    assert_non_null(strstr(fixture->claim.error.text, "others were faster"));
}

static void claim__raced_after_a_wait__backoff_starts_anew(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_RACED}, {.claim = CLAIM_RACED}, HELD(5000, 0),
                       {.claim = CLAIM_RACED}, WON(5, 0));
    claim_fixture_start(fixture, WAITING);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "1 claim #1 within 5000\n"
                   "3 claim #1 within 5000\n"
                   "3 waits for them, 5000 left\n"
                   "1003 claim #1 within 5000\n"
                   "1004 claim #1 within 5000\n"
                   "1004 won\n");
}

static void claim__given_up__last_fault_is_kept_and_nothing_undone(void **state)
{
    struct claim_fixture *fixture = *state;
    struct fake_answer down = REFUSED_CONNECTION;
    down.is_repeated = true;
    fake_store_answers(STORE_CLAIM, &down, 1);
    claim_fixture_start(fixture, PLAIN);
    claim_fixture_run_to_end(fixture);
    assert_int_equal(fixture->result, CLAIM_RESULT_FAILED);
    assert_int_equal(fixture->finished_ms, 60000);
    assert_int_equal(fixture->claim.failure, FAILURE_UNREACHABLE);
    assert_string_equal(fixture->claim.error.text, "no lease within 1m: connection refused");
    assert_int_equal(journal_count("undo"), 0); /* it never left */
    assert_in_range(journal_count("claim"), 60000 / 2000, 60000 / 1000);
}

/* ---- attempts that were not answered ------------------------------------------------------- */

static void claim__unanswered__next_attempt_has_the_next_number(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT, SILENT, WON(8, 1));
    claim_fixture_start(fixture, PLAIN);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "5100 claim #2 within 5000\n"
                   "10300 claim #3 within 5000\n"
                   "10301 won\n");
    assert_int_equal(journal_ms(fixture->lease.sent_boot_ms), 10300);
}

static void claim__never_sent__number_stays_and_nothing_is_undone(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, UNANSWERABLE, UNANSWERABLE);
    claim_fixture_start(fixture, (struct claim_spec){.give_up_ms = 8000});
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "5100 claim #1 within 2900\n"
                   "8000 failed\n");
}

static void claim__unanswered_and_given_up__undone_once(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT);
    FAKE_STORE_ANSWERS(STORE_UNDO, {.after_ms = 4});
    claim_fixture_start(fixture, (struct claim_spec){.give_up_ms = 3000});
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 3000\n"
                   "3000 undo within 1000\n"
                   "3004 failed\n");
    const struct release_item *item = fake_store_last_release(STORE_UNDO);
    assert_string_equal(item->key, "nightly");
    assert_string_equal(item->holder, "here/1/a");
    assert_int_equal(item->fence, 0); /* unknown */
    assert_string_equal(fixture->claim.error.text,
                        "no lease within 3s: the store gave no answer in time");
}

static void claim__undo_is_not_answered__ends_all_the_same(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT);
    FAKE_STORE_ANSWERS(STORE_UNDO, SILENT);
    claim_fixture_start(fixture, (struct claim_spec){.give_up_ms = 3000});
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 3000\n"
                   "3000 undo within 1000\n"
                   "4000 failed\n");
}

static void claim__unanswered_then_unsent__still_undone(void **state)
{
    struct claim_fixture *fixture = *state;
    struct fake_answer answers[] = {SILENT, REFUSED_CONNECTION};
    answers[1].is_repeated = true;
    fake_store_answers(STORE_CLAIM, answers, 2);
    FAKE_STORE_ANSWERS(STORE_UNDO, {.after_ms = 4});
    claim_fixture_start(fixture, (struct claim_spec){.give_up_ms = 5250});
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "5100 claim #2 within 150\n" /* never leaves: the number stays */
                   "5250 undo within 1000\n"
                   "5254 failed\n");
}

static void claim__unanswered_then_conflict__still_undone(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT,
                       {.fate = FAKE_FAILS, .failure = FAILURE_REFUSED, .fault = "no"});
    FAKE_STORE_ANSWERS(STORE_UNDO, {.after_ms = 4});
    claim_fixture_start(fixture, PLAIN);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "5100 claim #2 within 5000\n"
                   "5100 undo within 1000\n"
                   "5104 failed\n");
    assert_int_equal(fixture->claim.failure, FAILURE_REFUSED);
}

static void claim__unanswered_then_held__ends_without_undo(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT, HELD(5000, 1));
    claim_fixture_start(fixture, PLAIN);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "5100 claim #2 within 5000\n"
                   "5101 held\n");
}

static void claim__won_too_late__asks_again(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, WON(5, 10), WON(6, 1));
    claim_fixture_start(fixture, (struct claim_spec){.give_up_ms = 300000});
    fake_clock_run_for(&fixture->loop, 5);
    fake_clock_stop_for(171395); /* TERM would be due at 171400 */
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "171400 claim #2 within 5000\n"
                   "171401 won\n");
    assert_int_equal(fixture->lease.fence, 6);
    assert_int_equal(journal_ms(fixture->lease.sent_boot_ms), 171400);
}

static void claim__won_late_but_in_time__won(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, WON(5, 10));
    claim_fixture_start(fixture, PLAIN);
    fake_clock_run_for(&fixture->loop, 5);
    fake_clock_stop_for(171394);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "171399 won\n");
    assert_int_equal(journal_ms(fixture->lease.sent_boot_ms), 0);
}

static void claim__won_too_late_and_limit_over__undone_and_failed(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, WON(5, 10));
    FAKE_STORE_ANSWERS(STORE_UNDO, {.after_ms = 1});
    claim_fixture_start(fixture, PLAIN);
    fake_clock_run_for(&fixture->loop, 5);
    fake_clock_stop_for(400000);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "400005 undo within 1000\n"
                   "400006 failed\n");
    assert_non_null(strstr(fixture->claim.error.text, "stopped"));
    assert_int_equal(fixture->lease.fence, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(claim__store_down_then_up__won),
        CASE(claim__read_only_server__asks_again),
        CASE(claim__final_failure_first__ends_at_once),
        CASE(claim__final_failure_after_an_answer__goes_on),
        CASE(claim__store_fails_while_waiting__ends_failed_not_held),
        CASE(claim__conflicts__repeated_within_a_tenth_of_a_second),
        CASE(claim__raced__looks_again_soon),
        CASE(claim__raced_until_the_end__fails_with_a_fault_of_its_own),
        CASE(claim__raced_after_a_wait__backoff_starts_anew),
        CASE(claim__given_up__last_fault_is_kept_and_nothing_undone),
        CASE(claim__unanswered__next_attempt_has_the_next_number),
        CASE(claim__never_sent__number_stays_and_nothing_is_undone),
        CASE(claim__unanswered_and_given_up__undone_once),
        CASE(claim__undo_is_not_answered__ends_all_the_same),
        CASE(claim__unanswered_then_unsent__still_undone),
        CASE(claim__unanswered_then_conflict__still_undone),
        CASE(claim__unanswered_then_held__ends_without_undo),
        CASE(claim__won_too_late__asks_again),
        CASE(claim__won_late_but_in_time__won),
        CASE(claim__won_too_late_and_limit_over__undone_and_failed),
    };
    return cmocka_run_group_tests_name("claim_fault", tests, NULL, NULL);
}
