/* SPDX-License-Identifier: ISC */
#include "claim_fixture.h"

/* ---- cancelled ----------------------------------------------------------------------------- */

/* Cancels at this instant and expects an end within CLAIM_CANCEL_MS. */
static void cancel_at(struct claim_fixture *fixture, int64_t ms)
{
    fake_clock_run_for(&fixture->loop, ms);
    assert_int_equal(fixture->finished_count, 0);
    claim_cancel(&fixture->claim);
    claim_cancel(&fixture->claim); /* twice is once */
    assert_int_equal(fixture->finished_count, 0);
    claim_fixture_run_to_end(fixture);
    assert_in_range(fixture->finished_ms, ms, ms + CLAIM_CANCEL_MS);
}

static void cancel__before_it_leaves__ends_at_once(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, UNANSWERABLE);
    claim_fixture_start(fixture, PLAIN);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "30 cancelled\n");
}

static void cancel__before_the_first_turn__ends_at_once(void **state)
{
    struct claim_fixture *fixture = *state;
    claim_fixture_start(fixture, PLAIN);
    claim_cancel(&fixture->claim);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "0 cancelled\n");
}

static void cancel__on_its_way_and_won__undone(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, WON(5, 100));
    FAKE_STORE_ANSWERS(STORE_UNDO, {.after_ms = 3});
    claim_fixture_start(fixture, PLAIN);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "100 undo within 400\n"
                   "103 cancelled\n");
    const struct release_item *item = fake_store_last_release(STORE_UNDO);
    assert_int_equal(item->fence, 5);
    assert_string_equal(item->run_id, "r1");
    assert_string_equal(item->holder, "here/1/a");
    assert_int_equal(item->outcome, OUTCOME_NONE);
    assert_int_equal(fixture->lease.fence, 0);
}

static void cancel__on_its_way_and_recorded_as_missed__told_by_whoever_recorded_it(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM,
                       {.claim = CLAIM_MISSED, .after_ms = 100, .is_first_to_tell = true});
    claim_fixture_start(fixture, PLAIN);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "100 missed\n");
}

static void cancel__on_its_way_and_missed_as_others_have_told__ends(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_MISSED, .after_ms = 100});
    claim_fixture_start(fixture, PLAIN);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "100 cancelled\n");
}

static void cancel__undo_is_not_answered__ends_in_time(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, WON(5, 429));
    FAKE_STORE_ANSWERS(STORE_UNDO, SILENT);
    claim_fixture_start(fixture, PLAIN);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "429 undo within 400\n"
                   "829 cancelled\n");
}

static void cancel__on_its_way_and_held__ends(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(5000, 100));
    claim_fixture_start(fixture, WAITING);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "100 cancelled\n");
}

static void cancel__on_its_way_and_unanswered__undone_in_time(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT);
    FAKE_STORE_ANSWERS(STORE_UNDO, SILENT);
    claim_fixture_start(fixture, PLAIN);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "430 undo within 400\n"
                   "830 cancelled\n");
}

static void cancel__on_its_way_and_refused__ends_without_undo(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(
        STORE_CLAIM,
        {.fate = FAKE_FAILS, .after_ms = 100, .failure = FAILURE_CONFLICT, .fault = "deadlock"});
    claim_fixture_start(fixture, PLAIN);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "100 cancelled\n");
}

static void cancel__between_two_attempts__ends_at_once(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, REFUSED_CONNECTION);
    claim_fixture_start(fixture, PLAIN);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "30 cancelled\n");
}

static void cancel__while_waiting_for_the_holder__ends_at_once(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(120000, 0));
    claim_fixture_start(fixture, WAITING_FOREVER);
    cancel_at(fixture, 600);
    assert_journal("0 claim #1 within 5000\n"
                   "0 waits for them, 120000 left\n"
                   "600 cancelled\n");
}

static void cancel__while_the_slot_is_early__ends_at_once(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_EARLY, .wait_ms = 50000});
    claim_fixture_start(fixture, PLAIN);
    cancel_at(fixture, 7000);
    assert_journal("0 claim #1 within 5000\n"
                   "0 early by 50000\n"
                   "7000 cancelled\n");
}

static void cancel__between_attempts_after_an_unanswered_one__undone(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT);
    FAKE_STORE_ANSWERS(STORE_UNDO, SILENT);
    claim_fixture_start(fixture, PLAIN);
    cancel_at(fixture, 5050);
    assert_journal("0 claim #1 within 5000\n"
                   "5050 undo within 400\n"
                   "5450 cancelled\n");
}

static void cancel__unsent_after_an_unanswered_one__undone(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT, UNANSWERABLE);
    FAKE_STORE_ANSWERS(STORE_UNDO, {.after_ms = 1});
    claim_fixture_start(fixture, PLAIN);
    cancel_at(fixture, 5200);
    assert_journal("0 claim #1 within 5000\n"
                   "5100 claim #2 within 5000\n"
                   "5200 undo within 400\n"
                   "5201 cancelled\n");
}

static void cancel__refused_after_an_unanswered_one__undone(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(
        STORE_CLAIM, SILENT,
        {.fate = FAKE_FAILS, .after_ms = 200, .failure = FAILURE_CONFLICT, .fault = "deadlock"});
    FAKE_STORE_ANSWERS(STORE_UNDO, {.after_ms = 1});
    claim_fixture_start(fixture, PLAIN);
    cancel_at(fixture, 5200);
    assert_journal("0 claim #1 within 5000\n"
                   "5100 claim #2 within 5000\n"
                   "5300 undo within 400\n"
                   "5301 cancelled\n");
}

static void cancel__while_undoing__ends_in_time_with_the_result_it_had(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT);
    FAKE_STORE_ANSWERS(STORE_UNDO, SILENT);
    claim_fixture_start(fixture, (struct claim_spec){.give_up_ms = 3000});
    cancel_at(fixture, 3010);
    assert_journal("0 claim #1 within 3000\n"
                   "3000 undo within 1000\n"
                   "3410 failed\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(cancel__before_it_leaves__ends_at_once),
        CASE(cancel__before_the_first_turn__ends_at_once),
        CASE(cancel__on_its_way_and_won__undone),
        CASE(cancel__on_its_way_and_recorded_as_missed__told_by_whoever_recorded_it),
        CASE(cancel__on_its_way_and_missed_as_others_have_told__ends),
        CASE(cancel__undo_is_not_answered__ends_in_time),
        CASE(cancel__on_its_way_and_held__ends),
        CASE(cancel__on_its_way_and_unanswered__undone_in_time),
        CASE(cancel__on_its_way_and_refused__ends_without_undo),
        CASE(cancel__between_two_attempts__ends_at_once),
        CASE(cancel__while_waiting_for_the_holder__ends_at_once),
        CASE(cancel__while_the_slot_is_early__ends_at_once),
        CASE(cancel__between_attempts_after_an_unanswered_one__undone),
        CASE(cancel__unsent_after_an_unanswered_one__undone),
        CASE(cancel__refused_after_an_unanswered_one__undone),
        CASE(cancel__while_undoing__ends_in_time_with_the_result_it_had),
    };
    return cmocka_run_group_tests_name("claim_cancel", tests, NULL, NULL);
}
