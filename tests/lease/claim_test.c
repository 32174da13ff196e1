/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "fake_clock.h"
#include "fake_store.h"
#include "journal.h"
#include "lease/claim.h"

#include <inttypes.h>
#include <string.h>

struct fixture {
    uv_loop_t loop;
    struct store *store;
    struct lease lease;
    struct claim claim;
    struct handles handles;
    bool is_started;
    int finished_count;
    int64_t finished_ms;
    enum claim_result result;
};

static const char *result_name(enum claim_result result)
{
    static const char *const names[] = {
        [CLAIM_RESULT_WON] = "won",       [CLAIM_RESULT_HELD] = "held",
        [CLAIM_RESULT_DONE] = "done",     [CLAIM_RESULT_MISSED] = "missed",
        [CLAIM_RESULT_FAILED] = "failed", [CLAIM_RESULT_CANCELLED] = "cancelled",
    };
    return names[result];
}

static void on_finished(void *owner, enum claim_result result)
{
    struct fixture *fixture = owner;
    fixture->finished_count++;
    fixture->finished_ms = journal_ms(now_boot_ms());
    fixture->result = result;
    journal_add("%s", result_name(result));
}

static void on_waits(void *owner, const struct claim_item *answer)
{
    journal_add("waits for %s, %" PRId64 " left", answer->other, answer->wait_ms);
}

static void on_early(void *owner, const struct claim_item *answer)
{
    journal_add("early by %" PRId64, answer->wait_ms);
}

static const struct claim_listener listener = {
    .finished = on_finished,
    .waits = on_waits,
    .early = on_early,
};

static int set_up(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    uv_loop_init(&fixture.loop);
    journal_start();
    fake_random_least(false);
    fake_store_reset(NULL);
    const struct store_config config = {NULL, NULL};
    struct error err;
    store_open(&fixture.loop, &config, NULL, &fixture.store, &err);
    fixture.lease = (struct lease){.key = "nightly",
                                   .holder = "here/1/a",
                                   .run_id = "r1",
                                   .slot_us = NO_INSTANT,
                                   .timing = lease_timing(180000, 5000)};
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    store_close(fixture->store, NULL, NULL);
    if (fixture->is_started)
        claim_close(&fixture->claim, &fixture->handles);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    journal_done();
    return uv_loop_close(&fixture->loop);
}

static void start(struct fixture *fixture, struct claim_spec spec)
{
    fixture->is_started = true;
    claim_start(&fixture->claim, &fixture->loop, fixture->store, &fixture->lease, &spec, &listener,
                fixture);
    assert_int_equal(fixture->finished_count, 0); /* never from within */
}

static void run_to_end(struct fixture *fixture)
{
    fake_clock_run(&fixture->loop);
    assert_int_equal(fixture->finished_count, 1);
}

/* No wait, a minute for an answer. */
static const struct claim_spec plain = {.give_up_ms = 60000};
static const struct claim_spec waiting = {.may_wait = true, .give_up_ms = 600000};
static const struct claim_spec waiting_forever = {.may_wait = true, .give_up_ms = INT64_MAX};

#define WON(fence_, after)                                                                         \
    {                                                                                              \
        .claim = CLAIM_WON, .fence = fence_, .after_ms = after                                     \
    }
#define HELD(wait, after)                                                                          \
    {                                                                                              \
        .claim = CLAIM_HELD, .wait_ms = wait, .after_ms = after, .other = "them"                   \
    }
#define REFUSED_CONNECTION                                                                         \
    {                                                                                              \
        .fate = FAKE_FAILS, .is_unsent = true, .failure = FAILURE_UNREACHABLE,                     \
        .fault = "connection refused"                                                              \
    }
#define SILENT                                                                                     \
    {                                                                                              \
        .fate = FAKE_SILENT                                                                        \
    }
#define UNANSWERABLE                                                                               \
    {                                                                                              \
        .fate = FAKE_SILENT, .is_unsent = true                                                     \
    } /* connecting takes for ever */

/* ---- won and held -------------------------------------------------------------------------- */

static void claim__free__won_at_once(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM,
                       {.claim = CLAIM_WON, .fence = 7, .connecting_ms = 3, .after_ms = 2});
    start(fixture, (struct claim_spec){.give_up_ms = 60000,
                                       .hold_ms = 50,
                                       .guard_pid = 12,
                                       .slot_window_ms = 120000,
                                       .is_once = true});
    run_to_end(fixture);
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
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_DONE});
    start(fixture, waiting);
    run_to_end(fixture);
    assert_int_equal(fixture->result, CLAIM_RESULT_DONE);
    claim_close(&fixture->claim, &fixture->handles);
    uv_run(&fixture->loop, UV_RUN_NOWAIT);

    fixture->finished_count = 0;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_MISSED, .is_first_to_tell = true});
    start(fixture, waiting);
    run_to_end(fixture);
    assert_int_equal(fixture->result, CLAIM_RESULT_MISSED);
    assert_true(fixture->claim.item.is_first_to_tell);
}

static void claim__held_no_wait__ends_held(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(120000, 2));
    start(fixture, plain);
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "2 held\n");
    assert_string_equal(fixture->claim.item.other, "them");
    assert_int_equal(fixture->lease.fence, 0);
}

static void claim__held_and_waits__asks_every_second_until_won(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(120000, 1), HELD(119000, 1), WON(9, 1));
    start(fixture, waiting);
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "1 waits for them, 120000 left\n"
                   "1001 claim #1 within 5000\n"
                   "2002 claim #1 within 5000\n"
                   "2003 won\n");
}

static void claim__held_with_little_left__asks_no_oftener_than_every_second(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(300, 0), HELD(1, 0), HELD(0, 0), WON(9, 0));
    start(fixture, waiting_forever);
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "0 waits for them, 300 left\n"
                   "1000 claim #1 within 5000\n"
                   "2000 claim #1 within 5000\n"
                   "3000 claim #1 within 5000\n"
                   "3000 won\n");
}

static void claim__wait_is_over__ends_held(void **state)
{
    struct fixture *fixture = *state;
    struct fake_answer held = HELD(120000, 1);
    held.is_repeated = true;
    fake_store_answers(STORE_CLAIM, &held, 1);
    start(fixture, (struct claim_spec){.may_wait = true, .give_up_ms = 2500});
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "1 waits for them, 120000 left\n"
                   "1001 claim #1 within 1499\n"
                   "2002 claim #1 within 498\n"
                   "2500 held\n");
}

static void claim__wait_shorter_than_a_connect__first_attempt_has_its_whole_time(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(120000, 700));
    start(fixture, (struct claim_spec){.may_wait = true, .give_up_ms = 20});
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "700 held\n");
}

static void claim__no_time_to_start__is_one_whole_attempt(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, REFUSED_CONNECTION);
    start(fixture, (struct claim_spec){.give_up_ms = 0});
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "0 failed\n");
}

/* ---- faults -------------------------------------------------------------------------------- */

static void claim__store_down_then_up__won(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, REFUSED_CONNECTION, REFUSED_CONNECTION, WON(3, 1));
    start(fixture, plain);
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "100 claim #1 within 5000\n"
                   "300 claim #1 within 5000\n"
                   "301 won\n");
}

static void claim__read_only_server__asks_again(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(
        STORE_CLAIM,
        {.fate = FAKE_FAILS, .after_ms = 1, .failure = FAILURE_READ_ONLY, .fault = "a standby"},
        WON(3, 1));
    start(fixture, plain);
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "101 claim #1 within 5000\n"
                   "102 won\n");
}

static void claim__final_failure_first__ends_at_once(void **state)
{
    static const enum store_failure finals[] = {FAILURE_REFUSED, FAILURE_SCHEMA, FAILURE_RIGHTS,
                                                FAILURE_OTHER};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < CASE_COUNT(finals); i++) {
        journal_start();
        fixture->finished_count = 0;
        const struct fake_answer answer = {.fate = FAKE_FAILS, .failure = finals[i], .fault = "no"};
        fake_store_answers(STORE_CLAIM, &answer, 1);
        start(fixture, waiting);
        run_to_end(fixture);
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
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(5000, 0),
                       {.fate = FAKE_FAILS, .failure = FAILURE_REFUSED, .fault = "no"}, WON(4, 0));
    start(fixture, waiting);
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "0 waits for them, 5000 left\n"
                   "1000 claim #1 within 5000\n"
                   "1100 claim #1 within 5000\n"
                   "1100 won\n");
}

static void claim__store_fails_while_waiting__ends_failed_not_held(void **state)
{
    struct fixture *fixture = *state;
    struct fake_answer answers[] = {HELD(5000, 0), REFUSED_CONNECTION};
    answers[1].is_repeated = true;
    fake_store_answers(STORE_CLAIM, answers, 2);
    start(fixture, (struct claim_spec){.may_wait = true, .give_up_ms = 3000});
    run_to_end(fixture);
    assert_int_equal(fixture->result, CLAIM_RESULT_FAILED);
    assert_int_equal(fixture->finished_ms, 3000);
}

static void claim__conflicts__repeated_within_a_tenth_of_a_second(void **state)
{
    static const struct fake_answer conflict = {
        .fate = FAKE_FAILS, .failure = FAILURE_CONFLICT, .fault = "deadlock", .is_repeated = true};
    struct fixture *fixture = *state;
    fake_store_answers(STORE_CLAIM, &conflict, 1);
    start(fixture, (struct claim_spec){.give_up_ms = 330});
    run_to_end(fixture);
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
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_RACED}, {.claim = CLAIM_RACED},
                       {.claim = CLAIM_RACED}, {.claim = CLAIM_RACED}, HELD(5000, 0));
    fake_random_least(true);
    start(fixture, plain);
    run_to_end(fixture);
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
    struct fixture *fixture = *state;
    fake_store_answers(STORE_CLAIM, &raced, 1);
    start(fixture, (struct claim_spec){.give_up_ms = 500});
    run_to_end(fixture);
    assert_int_equal(fixture->result, CLAIM_RESULT_FAILED);
    assert_int_equal(fixture->claim.failure, FAILURE_CONFLICT);
    assert_non_null(strstr(fixture->claim.error.text, "others were faster"));
}

static void claim__raced_after_a_wait__backoff_starts_anew(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_RACED}, {.claim = CLAIM_RACED}, HELD(5000, 0),
                       {.claim = CLAIM_RACED}, WON(5, 0));
    start(fixture, waiting);
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "1 claim #1 within 5000\n"
                   "3 claim #1 within 5000\n"
                   "3 waits for them, 5000 left\n"
                   "1003 claim #1 within 5000\n"
                   "1004 claim #1 within 5000\n"
                   "1004 won\n");
}

static void claim__given_up__last_fault_is_kept_and_nothing_freed(void **state)
{
    struct fixture *fixture = *state;
    struct fake_answer down = REFUSED_CONNECTION;
    down.is_repeated = true;
    fake_store_answers(STORE_CLAIM, &down, 1);
    start(fixture, plain);
    run_to_end(fixture);
    assert_int_equal(fixture->result, CLAIM_RESULT_FAILED);
    assert_int_equal(fixture->finished_ms, 60000);
    assert_int_equal(fixture->claim.failure, FAILURE_UNREACHABLE);
    assert_string_equal(fixture->claim.error.text, "no lease within 1m: connection refused");
    assert_int_equal(journal_count("free"), 0); /* it never left */
    assert_in_range(journal_count("claim"), 60000 / 2000, 60000 / 1000);
}

/* ---- early slots --------------------------------------------------------------------------- */

static void claim__early__sleeps_until_the_slot_and_extends_the_limit(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_EARLY, .wait_ms = 3000, .after_ms = 1},
                       {.claim = CLAIM_EARLY, .wait_ms = 40, .after_ms = 1}, WON(3, 1));
    start(fixture, (struct claim_spec){.give_up_ms = 2000});
    run_to_end(fixture);
    assert_journal("0 claim #1 within 2000\n"
                   "1 early by 3000\n"
                   "3001 claim #1 within 1999\n"
                   "3042 claim #1 within 1998\n"
                   "3043 won\n");
}

static void claim__early_by_nothing__asks_again_a_moment_later(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_EARLY}, WON(3, 0));
    start(fixture, waiting_forever);
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "0 early by 0\n"
                   "1 claim #1 within 5000\n"
                   "1 won\n");
}

/* ---- attempts that were not answered ------------------------------------------------------- */

static void claim__unanswered__next_attempt_has_the_next_number(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT, SILENT, WON(8, 1));
    start(fixture, plain);
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "5100 claim #2 within 5000\n"
                   "10300 claim #3 within 5000\n"
                   "10301 won\n");
    assert_int_equal(journal_ms(fixture->lease.sent_boot_ms), 10300);
}

static void claim__never_sent__number_stays_and_nothing_is_freed(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, UNANSWERABLE, UNANSWERABLE);
    start(fixture, (struct claim_spec){.give_up_ms = 8000});
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "5100 claim #1 within 2900\n"
                   "8000 failed\n");
}

static void claim__unanswered_and_given_up__freed_once(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT);
    FAKE_STORE_ANSWERS(STORE_FREE, {.after_ms = 4});
    start(fixture, (struct claim_spec){.give_up_ms = 3000});
    run_to_end(fixture);
    assert_journal("0 claim #1 within 3000\n"
                   "3000 free within 1000\n"
                   "3004 failed\n");
    const struct release_item *item = fake_store_last_release(STORE_FREE);
    assert_string_equal(item->key, "nightly");
    assert_string_equal(item->holder, "here/1/a");
    assert_string_equal(fixture->claim.error.text,
                        "no lease within 3s: the store gave no answer in time");
}

static void claim__free_is_not_answered__ends_all_the_same(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT);
    FAKE_STORE_ANSWERS(STORE_FREE, SILENT);
    start(fixture, (struct claim_spec){.give_up_ms = 3000});
    run_to_end(fixture);
    assert_journal("0 claim #1 within 3000\n"
                   "3000 free within 1000\n"
                   "4000 failed\n");
}

static void claim__unanswered_then_unsent__still_freed(void **state)
{
    struct fixture *fixture = *state;
    struct fake_answer answers[] = {SILENT, REFUSED_CONNECTION};
    answers[1].is_repeated = true;
    fake_store_answers(STORE_CLAIM, answers, 2);
    FAKE_STORE_ANSWERS(STORE_FREE, {.after_ms = 4});
    start(fixture, (struct claim_spec){.give_up_ms = 5250});
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "5100 claim #2 within 150\n" /* never leaves: the number stays */
                   "5250 free within 1000\n"
                   "5254 failed\n");
}

static void claim__unanswered_then_conflict__still_freed(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT,
                       {.fate = FAKE_FAILS, .failure = FAILURE_REFUSED, .fault = "no"});
    FAKE_STORE_ANSWERS(STORE_FREE, {.after_ms = 4});
    start(fixture, plain);
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "5100 claim #2 within 5000\n"
                   "5100 free within 1000\n"
                   "5104 failed\n");
    assert_int_equal(fixture->claim.failure, FAILURE_REFUSED);
}

static void claim__unanswered_then_held__ends_without_free(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT, HELD(5000, 1));
    start(fixture, plain);
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "5100 claim #2 within 5000\n"
                   "5101 held\n");
}

static void claim__won_too_late__asks_again(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, WON(5, 10), WON(6, 1));
    start(fixture, (struct claim_spec){.give_up_ms = 300000});
    fake_clock_run_for(&fixture->loop, 5);
    fake_clock_stop_for(171395); /* TERM would be due at 171400 */
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "171400 claim #2 within 5000\n"
                   "171401 won\n");
    assert_int_equal(fixture->lease.fence, 6);
    assert_int_equal(journal_ms(fixture->lease.sent_boot_ms), 171400);
}

static void claim__won_late_but_in_time__won(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, WON(5, 10));
    start(fixture, plain);
    fake_clock_run_for(&fixture->loop, 5);
    fake_clock_stop_for(171394);
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "171399 won\n");
    assert_int_equal(journal_ms(fixture->lease.sent_boot_ms), 0);
}

static void claim__won_too_late_and_limit_over__freed_and_failed(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, WON(5, 10));
    FAKE_STORE_ANSWERS(STORE_FREE, {.after_ms = 1});
    start(fixture, plain);
    fake_clock_run_for(&fixture->loop, 5);
    fake_clock_stop_for(400000);
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "400005 free within 1000\n"
                   "400006 failed\n");
    assert_non_null(strstr(fixture->claim.error.text, "stopped"));
    assert_int_equal(fixture->lease.fence, 0);
}

/* ---- cancelled ----------------------------------------------------------------------------- */

/* Cancels at this instant and expects an end within CLAIM_CANCEL_MS. */
static void cancel_at(struct fixture *fixture, int64_t ms)
{
    fake_clock_run_for(&fixture->loop, ms);
    assert_int_equal(fixture->finished_count, 0);
    claim_cancel(&fixture->claim);
    claim_cancel(&fixture->claim); /* twice is once */
    assert_int_equal(fixture->finished_count, 0);
    run_to_end(fixture);
    assert_in_range(fixture->finished_ms, ms, ms + CLAIM_CANCEL_MS);
}

static void cancel__before_it_leaves__ends_at_once(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, UNANSWERABLE);
    start(fixture, plain);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "30 cancelled\n");
}

static void cancel__before_the_first_turn__ends_at_once(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, plain);
    claim_cancel(&fixture->claim);
    run_to_end(fixture);
    assert_journal("0 claim #1 within 5000\n"
                   "0 cancelled\n");
}

static void cancel__on_its_way_and_won__undone(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, WON(5, 100));
    FAKE_STORE_ANSWERS(STORE_UNDO, {.after_ms = 3});
    start(fixture, plain);
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

static void cancel__undo_is_not_answered__ends_in_time(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, WON(5, 429));
    FAKE_STORE_ANSWERS(STORE_UNDO, SILENT);
    start(fixture, plain);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "429 undo within 400\n"
                   "829 cancelled\n");
}

static void cancel__on_its_way_and_held__ends(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(5000, 100));
    start(fixture, waiting);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "100 cancelled\n");
}

static void cancel__on_its_way_and_unanswered__freed_in_time(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT);
    FAKE_STORE_ANSWERS(STORE_FREE, SILENT);
    start(fixture, plain);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "430 free within 400\n"
                   "830 cancelled\n");
}

static void cancel__on_its_way_and_refused__ends_without_free(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(
        STORE_CLAIM,
        {.fate = FAKE_FAILS, .after_ms = 100, .failure = FAILURE_CONFLICT, .fault = "deadlock"});
    start(fixture, plain);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "100 cancelled\n");
}

static void cancel__between_two_attempts__ends_at_once(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, REFUSED_CONNECTION);
    start(fixture, plain);
    cancel_at(fixture, 30);
    assert_journal("0 claim #1 within 5000\n"
                   "30 cancelled\n");
}

static void cancel__while_waiting_for_the_holder__ends_at_once(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, HELD(120000, 0));
    start(fixture, waiting_forever);
    cancel_at(fixture, 600);
    assert_journal("0 claim #1 within 5000\n"
                   "0 waits for them, 120000 left\n"
                   "600 cancelled\n");
}

static void cancel__while_the_slot_is_early__ends_at_once(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, {.claim = CLAIM_EARLY, .wait_ms = 50000});
    start(fixture, plain);
    cancel_at(fixture, 7000);
    assert_journal("0 claim #1 within 5000\n"
                   "0 early by 50000\n"
                   "7000 cancelled\n");
}

static void cancel__between_attempts_after_an_unanswered_one__freed(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT);
    FAKE_STORE_ANSWERS(STORE_FREE, SILENT);
    start(fixture, plain);
    cancel_at(fixture, 5050);
    assert_journal("0 claim #1 within 5000\n"
                   "5050 free within 400\n"
                   "5450 cancelled\n");
}

static void cancel__unsent_after_an_unanswered_one__freed(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT, UNANSWERABLE);
    FAKE_STORE_ANSWERS(STORE_FREE, {.after_ms = 1});
    start(fixture, plain);
    cancel_at(fixture, 5200);
    assert_journal("0 claim #1 within 5000\n"
                   "5100 claim #2 within 5000\n"
                   "5200 free within 400\n"
                   "5201 cancelled\n");
}

static void cancel__refused_after_an_unanswered_one__freed(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(
        STORE_CLAIM, SILENT,
        {.fate = FAKE_FAILS, .after_ms = 200, .failure = FAILURE_CONFLICT, .fault = "deadlock"});
    FAKE_STORE_ANSWERS(STORE_FREE, {.after_ms = 1});
    start(fixture, plain);
    cancel_at(fixture, 5200);
    assert_journal("0 claim #1 within 5000\n"
                   "5100 claim #2 within 5000\n"
                   "5300 free within 400\n"
                   "5301 cancelled\n");
}

static void cancel__while_freeing__ends_in_time_with_the_result_it_had(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_CLAIM, SILENT);
    FAKE_STORE_ANSWERS(STORE_FREE, SILENT);
    start(fixture, (struct claim_spec){.give_up_ms = 3000});
    cancel_at(fixture, 3010);
    assert_journal("0 claim #1 within 3000\n"
                   "3000 free within 1000\n"
                   "3410 failed\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(claim__free__won_at_once),
        CASE(claim__done_or_missed__ends),
        CASE(claim__held_no_wait__ends_held),
        CASE(claim__held_and_waits__asks_every_second_until_won),
        CASE(claim__held_with_little_left__asks_no_oftener_than_every_second),
        CASE(claim__wait_is_over__ends_held),
        CASE(claim__wait_shorter_than_a_connect__first_attempt_has_its_whole_time),
        CASE(claim__no_time_to_start__is_one_whole_attempt),
        CASE(claim__store_down_then_up__won),
        CASE(claim__read_only_server__asks_again),
        CASE(claim__final_failure_first__ends_at_once),
        CASE(claim__final_failure_after_an_answer__goes_on),
        CASE(claim__store_fails_while_waiting__ends_failed_not_held),
        CASE(claim__conflicts__repeated_within_a_tenth_of_a_second),
        CASE(claim__raced__looks_again_soon),
        CASE(claim__raced_until_the_end__fails_with_a_fault_of_its_own),
        CASE(claim__raced_after_a_wait__backoff_starts_anew),
        CASE(claim__given_up__last_fault_is_kept_and_nothing_freed),
        CASE(claim__early__sleeps_until_the_slot_and_extends_the_limit),
        CASE(claim__early_by_nothing__asks_again_a_moment_later),
        CASE(claim__unanswered__next_attempt_has_the_next_number),
        CASE(claim__never_sent__number_stays_and_nothing_is_freed),
        CASE(claim__unanswered_and_given_up__freed_once),
        CASE(claim__free_is_not_answered__ends_all_the_same),
        CASE(claim__unanswered_then_unsent__still_freed),
        CASE(claim__unanswered_then_conflict__still_freed),
        CASE(claim__unanswered_then_held__ends_without_free),
        CASE(claim__won_too_late__asks_again),
        CASE(claim__won_late_but_in_time__won),
        CASE(claim__won_too_late_and_limit_over__freed_and_failed),
        CASE(cancel__before_it_leaves__ends_at_once),
        CASE(cancel__before_the_first_turn__ends_at_once),
        CASE(cancel__on_its_way_and_won__undone),
        CASE(cancel__undo_is_not_answered__ends_in_time),
        CASE(cancel__on_its_way_and_held__ends),
        CASE(cancel__on_its_way_and_unanswered__freed_in_time),
        CASE(cancel__on_its_way_and_refused__ends_without_free),
        CASE(cancel__between_two_attempts__ends_at_once),
        CASE(cancel__while_waiting_for_the_holder__ends_at_once),
        CASE(cancel__while_the_slot_is_early__ends_at_once),
        CASE(cancel__between_attempts_after_an_unanswered_one__freed),
        CASE(cancel__unsent_after_an_unanswered_one__freed),
        CASE(cancel__refused_after_an_unanswered_one__freed),
        CASE(cancel__while_freeing__ends_in_time_with_the_result_it_had),
    };
    return cmocka_run_group_tests_name("claim", tests, NULL, NULL);
}
