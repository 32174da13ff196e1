/* SPDX-License-Identifier: ISC */
#include "claim_fixture.h"

/* ---- won and held -------------------------------------------------------------------------- */

static void claim__free__won_at_once(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM,
                       {.claim = CLAIM_WON, .fence = 7, .connecting_ms = 3, .after_ms = 2});
    claim_fixture_start(fixture, (struct claim_spec){.give_up_ms = 60000,
                                                     .hold_ms = 50,
                                                     .guard_pid = 12,
                                                     .slot_window_ms = 120000,
                                                     .is_once = true});
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "5 won\n");
    assert_int_equal(fixture->lease.fence, 7);
    assert_int_equal(journal_ms(fixture->lease.sent_boot_ms), 3); /* before it left */
    const struct claim_item *item = fake_store_last_claim();
    assert_string_equal(item->key, "nightly");
    assert_string_equal(item->holder, "here/1/a");
    assert_string_equal(item->run_id, "r1");
    assert_int_equal(item->ttl_ms, 180000);
    assert_int_equal(item->hold_ms, 50);
    assert_int_equal(item->limit_ms, 5000);
    assert_int_equal(item->start_within_ms, 120000);
    assert_int_equal(item->guard_pid, 12);
    assert_true(item->is_once);
}

static void claim__done_or_missed__ends(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_DONE});
    claim_fixture_start(fixture, WAITING);
    claim_fixture_run_to_end(fixture);
    assert_int_equal(fixture->result, CLAIM_RESULT_DONE);
    claim_close(&fixture->claim, &fixture->handles);
    uv_run(&fixture->loop, UV_RUN_NOWAIT);

    fixture->finished_count = 0;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_MISSED, .is_first_to_tell = true});
    claim_fixture_start(fixture, WAITING);
    claim_fixture_run_to_end(fixture);
    assert_int_equal(fixture->result, CLAIM_RESULT_MISSED);
    assert_true(fixture->claim.item.is_first_to_tell);
}

static void claim__held_no_wait__ends_held(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(120000, 2));
    claim_fixture_start(fixture, PLAIN);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "2 held\n");
    assert_string_equal(fixture->claim.item.other, "them");
    assert_int_equal(fixture->lease.fence, 0);
}

static void claim__held_and_waits__asks_every_second_until_won(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(120000, 1), HELD(119000, 1), WON(9, 1));
    claim_fixture_start(fixture, WAITING);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "1 waits for them, 120000 left\n"
                   "1001 claim #1 within 5000\n"
                   "2002 claim #1 within 5000\n"
                   "2003 won\n");
}

static void claim__held_with_little_left__asks_no_oftener_than_every_second(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(300, 0), HELD(1, 0), HELD(0, 0), WON(9, 0));
    claim_fixture_start(fixture, WAITING_FOREVER);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "0 waits for them, 300 left\n"
                   "1000 claim #1 within 5000\n"
                   "2000 claim #1 within 5000\n"
                   "3000 claim #1 within 5000\n"
                   "3000 won\n");
}

static void hint_after(struct claim_fixture *fixture, int64_t ms, const char *key)
{
    fake_clock_run_for(&fixture->loop, ms);
    claim_hint(&fixture->claim, key);
}

static void claim__held_and_a_hint__asks_at_once(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(120000, 0), WON(9, 0));
    claim_fixture_start(fixture, WAITING);
    hint_after(fixture, 300, "another");
    hint_after(fixture, 100, "nightly");
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "0 waits for them, 120000 left\n"
                   "400 claim #1 within 5000\n"
                   "400 won\n");
}

static void claim__held_and_many_hints__asks_ten_times_a_second(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(120000, 0), HELD(120000, 0), HELD(120000, 0), WON(9, 0));
    claim_fixture_start(fixture, WAITING);
    hint_after(fixture, 400, "nightly");
    hint_after(fixture, 10, "nightly");
    hint_after(fixture, 80, "nightly"); /* the second one is not put off by it */
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "0 waits for them, 120000 left\n"
                   "400 claim #1 within 5000\n"
                   "500 claim #1 within 5000\n"
                   "1500 claim #1 within 5000\n"
                   "1500 won\n");
}

static void claim__hint_while_it_asks__changes_nothing(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(120000, 50), WON(9, 0));
    claim_fixture_start(fixture, WAITING);
    hint_after(fixture, 20, "nightly");
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "50 waits for them, 120000 left\n"
                   "1050 claim #1 within 5000\n"
                   "1050 won\n");
}

static void claim__wait_is_over__ends_held(void **state)
{
    struct claim_fixture *fixture = *state;
    struct fake_answer held = HELD(120000, 1);
    held.is_repeated = true;
    fake_store_answers(STORE_CLAIM, &held, 1);
    claim_fixture_start(fixture, (struct claim_spec){.may_wait = true, .give_up_ms = 2500});
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "1 waits for them, 120000 left\n"
                   "1001 claim #1 within 1499\n"
                   "2002 claim #1 within 498\n"
                   "2500 held\n");
}

static void claim__wait_shorter_than_a_connect__first_attempt_has_its_whole_time(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(120000, 700));
    claim_fixture_start(fixture, (struct claim_spec){.may_wait = true, .give_up_ms = 20});
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "700 held\n");
}

static void claim__no_time_to_start__is_one_whole_attempt(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, REFUSED_CONNECTION);
    claim_fixture_start(fixture, (struct claim_spec){.give_up_ms = 0});
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "0 failed\n");
}

/* ---- early slots --------------------------------------------------------------------------- */

static void claim__early__sleeps_until_the_slot_and_extends_the_limit(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_EARLY, .wait_ms = 3000, .after_ms = 1},
                       {.claim = CLAIM_EARLY, .wait_ms = 40, .after_ms = 1}, WON(3, 1));
    claim_fixture_start(fixture, (struct claim_spec){.give_up_ms = 2000});
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 2000\n"
                   "1 early by 3000\n"
                   "3001 claim #1 within 1999\n"
                   "3042 claim #1 within 1998\n"
                   "3043 won\n");
}

static void claim__early_by_nothing__asks_again_a_moment_later(void **state)
{
    struct claim_fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_EARLY}, WON(3, 0));
    claim_fixture_start(fixture, WAITING_FOREVER);
    claim_fixture_run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "0 early by 0\n"
                   "1 claim #1 within 5000\n"
                   "1 won\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(claim__free__won_at_once),
        CASE(claim__done_or_missed__ends),
        CASE(claim__held_no_wait__ends_held),
        CASE(claim__held_and_waits__asks_every_second_until_won),
        CASE(claim__held_with_little_left__asks_no_oftener_than_every_second),
        CASE(claim__held_and_a_hint__asks_at_once),
        CASE(claim__held_and_many_hints__asks_ten_times_a_second),
        CASE(claim__hint_while_it_asks__changes_nothing),
        CASE(claim__wait_is_over__ends_held),
        CASE(claim__wait_shorter_than_a_connect__first_attempt_has_its_whole_time),
        CASE(claim__no_time_to_start__is_one_whole_attempt),
        CASE(claim__early__sleeps_until_the_slot_and_extends_the_limit),
        CASE(claim__early_by_nothing__asks_again_a_moment_later),
    };
    return cmocka_run_group_tests_name("claim", tests, NULL, NULL);
}
