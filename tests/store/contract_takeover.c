/* SPDX-License-Identifier: ISC */
/* A run of a slot whose holder died or was stopped, and who takes it over. */
#include "store_fixture.h"

#include <stdio.h>
#include <string.h>

#define JOB "nightly"

/* A run of a slot of now that may be taken over. */
static struct contender starter(const char *key)
{
    struct contender one = contender(key);
    one.item.slot_us = now_wall_us();
    one.item.job = JOB;
    one.item.is_rerun = true;
    return one;
}

static struct contender started(struct store_fixture *fixture)
{
    struct contender one = starter(store_fixture_key(fixture));
    assert_int_equal(contender_claim(fixture, &one), CLAIM_WON);
    return one;
}

static struct contender stopped(struct store_fixture *fixture)
{
    struct contender one = started(fixture);
    assert_true(contender_release(fixture, &one, OUTCOME_STOPPED, 143).is_recorded);
    return one;
}

static struct interrupted_run interrupted_of(struct store_fixture *fixture, const char *key,
                                             const char *job)
{
    struct recall_item item = {.key = key, .job = job, .wants_interrupted = true};
    struct store_request request = {.kind = STORE_RECALL, .u.recall = {.items = &item, .count = 1}};
    assert_int_equal(store_fixture_ask(fixture, &request), STORE_ANSWERED);
    return item.interrupted;
}

static bool is_interrupted(struct store_fixture *fixture, const struct contender *one)
{
    struct interrupted_run run = interrupted_of(fixture, one->item.key, JOB);
    return strcmp(run.run_id, one->run_id) == 0;
}

/* Who wants to take the run over, as the store tells of it. */
static struct contender taker(struct store_fixture *fixture, const struct contender *one)
{
    struct interrupted_run run = interrupted_of(fixture, one->item.key, JOB);
    struct contender two = contender(one->item.key);
    snprintf(two.run_id, sizeof two.run_id, "%s", run.run_id);
    two.item.slot_us = run.slot_us;
    two.item.job = JOB;
    two.item.is_rerun = true;
    two.item.interrupted_fence = run.fence;
    two.item.max_starts = 3;
    return two;
}

static struct run_row the_run(struct store_fixture *fixture, const char *key)
{
    size_t count;
    struct run_row run = store_fixture_last_run(fixture, key, &count);
    assert_int_equal(count, 1);
    return run;
}

/* ---- which runs are interrupted ----------------------------------------------------------- */

static void run_stopped__recalled__is_interrupted(void **state)
{
    struct contender one = stopped(*state);
    struct interrupted_run run = interrupted_of(*state, one.item.key, JOB);
    assert_string_equal(run.run_id, one.run_id);
    assert_int_equal(run.fence, one.item.fence);
    assert_int_equal(run.slot_us, one.item.slot_us);
    assert_int_equal(run.starts, 1);
}

static void holder_dead_and_lease_over__recalled__is_interrupted(void **state)
{
    struct contender one = starter(store_fixture_key(*state));
    one.item.ttl_ms = MOMENT_MS;
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    assert_false(is_interrupted(*state, &one));
    store_fixture_wait_ms(*state, MOMENT_MS + 100);
    assert_true(is_interrupted(*state, &one));
}

static void lease_given_back_by_the_guard__recalled__is_interrupted(void **state)
{
    struct contender one = started(*state);
    contender_free(*state, &one);
    assert_true(is_interrupted(*state, &one));
}

static void runs_that_ended__recalled__are_not_interrupted(void **state)
{
    static const enum run_outcome outcomes[] = {
        OUTCOME_SUCCEEDED, OUTCOME_FAILED, OUTCOME_NOT_STARTED, OUTCOME_TIMED_OUT, OUTCOME_LOST};
    for (size_t i = 0; i < CASE_COUNT(outcomes); i++) {
        struct contender one = started(*state);
        contender_release(*state, &one, outcomes[i], 0);
        assert_false(is_interrupted(*state, &one));
    }
}

static void run_at_work__recalled__is_not_interrupted(void **state)
{
    struct contender one = started(*state);
    assert_false(is_interrupted(*state, &one));
}

static void run_of_another_kind_stopped__recalled__is_not_interrupted(void **state)
{
    struct contender one = starter(store_fixture_key(*state));
    one.item.is_rerun = false;
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    contender_release(*state, &one, OUTCOME_STOPPED, 143);
    assert_false(is_interrupted(*state, &one));
}

static void first_claim_undone__recalled__is_not_interrupted(void **state)
{
    struct contender one = started(*state);
    contender_undo(*state, &one);
    assert_false(is_interrupted(*state, &one));
}

static void run_stopped__recalled_for_another_job_or_not_wanted__is_not_told(void **state)
{
    struct contender one = stopped(*state);
    assert_string_equal(interrupted_of(*state, one.item.key, "weekly").run_id, "");
    assert_string_equal(interrupted_of(*state, one.item.key, NULL).run_id, one.run_id);
    struct recall_item item = {.key = one.item.key};
    struct store_request request = {.kind = STORE_RECALL, .u.recall = {.items = &item, .count = 1}};
    assert_int_equal(store_fixture_ask(*state, &request), STORE_ANSWERED);
    assert_string_equal(item.interrupted.run_id, "");
}

static void key_held_by_the_next_slot__recalled__nothing_is_told(void **state)
{
    struct contender one = stopped(*state);
    struct contender next = starter(one.item.key);
    next.item.slot_us++;
    assert_int_equal(contender_claim(*state, &next), CLAIM_WON);
    assert_false(is_interrupted(*state, &one));
    contender_release(*state, &next, OUTCOME_SUCCEEDED, 0);
    assert_true(is_interrupted(*state, &one));
}

static void two_slots_stopped__recalled__the_newest_is_told(void **state)
{
    struct contender one = stopped(*state);
    struct contender next = starter(one.item.key);
    next.item.slot_us++;
    assert_int_equal(contender_claim(*state, &next), CLAIM_WON);
    contender_release(*state, &next, OUTCOME_STOPPED, 143);
    assert_true(is_interrupted(*state, &next));
}

/* ---- taking over -------------------------------------------------------------------------- */

static void run_stopped__taken_over__goes_on_under_a_new_mandate(void **state)
{
    struct contender one = stopped(*state);
    struct contender two = taker(*state, &one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    assert_true(two.item.fence > one.item.fence);
    assert_int_equal(two.item.starts, 2);
    assert_string_equal(two.item.other, one.holder);
    assert_string_equal(two.item.abandoned, "");
    struct run_row run = the_run(*state, one.item.key);
    assert_int_equal(run.outcome, OUTCOME_NONE);
    assert_int_equal(run.fence, two.item.fence);
    assert_string_equal(run.holder, two.holder);
    assert_int_equal(run.slot_us, one.item.slot_us);
    assert_true(run.finished_us == NO_INSTANT);
    assert_int_equal(run.status, -1);
    assert_int_equal(contender_renew(*state, &two, NULL), RENEW_RENEWED);
    assert_true(contender_release(*state, &two, OUTCOME_SUCCEEDED, 0).is_recorded);
    run = the_run(*state, one.item.key);
    assert_string_equal(run.run_id, one.run_id);
    assert_int_equal(run.outcome, OUTCOME_SUCCEEDED);
    assert_false(is_interrupted(*state, &one));
}

static void holder_dead__taken_over__is_not_told_as_abandoned(void **state)
{
    struct contender one = started(*state);
    contender_free(*state, &one);
    struct contender two = taker(*state, &one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    assert_string_equal(two.item.abandoned, "");
    contender_release(*state, &two, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(the_run(*state, one.item.key).outcome, OUTCOME_SUCCEEDED);
}

static void two_who_take_over__one_wins(void **state)
{
    struct contender one = stopped(*state);
    struct contender two = taker(*state, &one);
    struct contender three = taker(*state, &one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    assert_int_equal(contender_claim(*state, &three), CLAIM_DONE);
    assert_false(three.item.is_first_to_tell);
    contender_release(*state, &two, OUTCOME_STOPPED, 143);
    assert_int_equal(contender_claim(*state, &three), CLAIM_DONE);
    assert_int_equal(the_run(*state, one.item.key).outcome, OUTCOME_STOPPED);
}

static void last_holder_is_late__its_outcome_stands_and_nobody_takes_over(void **state)
{
    struct contender one = started(*state);
    contender_free(*state, &one);
    struct contender two = taker(*state, &one);
    assert_true(contender_release(*state, &one, OUTCOME_SUCCEEDED, 0).is_recorded);
    assert_int_equal(contender_claim(*state, &two), CLAIM_DONE);
    assert_int_equal(the_run(*state, one.item.key).outcome, OUTCOME_SUCCEEDED);
}

static void run_taken_over__last_holders_late_messages__change_nothing(void **state)
{
    struct contender one = started(*state);
    contender_free(*state, &one);
    struct contender two = taker(*state, &one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    assert_int_equal(contender_renew(*state, &one, NULL), RENEW_LOST);
    assert_false(contender_release(*state, &one, OUTCOME_FAILED, 1).is_recorded);
    contender_undo(*state, &one);
    struct contender unanswered = one;
    unanswered.item.fence = 0;
    contender_undo(*state, &unanswered);
    assert_int_equal(contender_claim_again(*state, &one), CLAIM_RACED);
    assert_int_equal(contender_renew(*state, &two, NULL), RENEW_RENEWED);
    assert_int_equal(the_run(*state, one.item.key).outcome, OUTCOME_NONE);
    assert_true(contender_release(*state, &two, OUTCOME_SUCCEEDED, 0).is_recorded);
}

static void key_held__take_over__is_held_and_changes_nothing(void **state)
{
    struct contender one = stopped(*state);
    struct contender two = taker(*state, &one);
    struct contender other = contender_winner(*state, one.item.key);
    assert_int_equal(contender_claim(*state, &two), CLAIM_HELD);
    assert_string_equal(two.item.other, other.holder);
    contender_release(*state, &other, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
}

static void key_on_hold__take_over__is_held(void **state)
{
    struct contender one = starter(store_fixture_key(*state));
    one.item.hold_ms = 2 * MOMENT_MS;
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    contender_release(*state, &one, OUTCOME_STOPPED, 143);
    assert_false(is_interrupted(*state, &one));
    struct contender two = contender(one.item.key);
    snprintf(two.run_id, sizeof two.run_id, "%s", one.run_id);
    two.item.slot_us = one.item.slot_us;
    two.item.interrupted_fence = one.item.fence;
    two.item.max_starts = 3;
    assert_int_equal(contender_claim(*state, &two), CLAIM_HELD);
    assert_true(two.item.is_on_hold);
    store_fixture_wait_ms(*state, 2 * MOMENT_MS + 100);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
}

static void later_slot_meets_the_run_of_a_dead_holder__it_is_abandoned_for_good(void **state)
{
    struct contender one = started(*state);
    contender_free(*state, &one);
    struct contender two = taker(*state, &one);
    struct contender next = starter(one.item.key);
    next.item.slot_us++;
    assert_int_equal(contender_claim(*state, &next), CLAIM_WON);
    assert_string_equal(next.item.abandoned, one.run_id);
    contender_release(*state, &next, OUTCOME_SUCCEEDED, 0);
    assert_false(is_interrupted(*state, &one));
    assert_int_equal(contender_claim(*state, &two), CLAIM_DONE);
}

static void slot_interrupted__plain_claim_of_it__is_done(void **state)
{
    struct contender one = stopped(*state);
    struct contender two = starter(one.item.key);
    two.item.slot_us = one.item.slot_us;
    assert_int_equal(contender_claim(*state, &two), CLAIM_DONE);
}

static void run_taken_over__other_unfinished_run_of_the_key__is_closed(void **state)
{
    struct contender one = stopped(*state);
    struct contender two = taker(*state, &one);
    struct contender dead = contender_winner(*state, one.item.key);
    contender_free(*state, &dead);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    assert_string_equal(two.item.abandoned, dead.run_id);
    assert_string_equal(two.item.other, dead.holder);
}

/* ---- replies that are lost, claims that are given up --------------------------------------- */

static void reply_lost__take_over_with_next_attempt__wins_and_counts_one_start(void **state)
{
    struct contender one = stopped(*state);
    struct contender two = taker(*state, &one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    int64_t fence = two.item.fence;
    assert_int_equal(contender_claim_again(*state, &two), CLAIM_WON);
    assert_true(two.item.fence > fence);
    assert_int_equal(two.item.starts, 2);
    assert_int_equal(contender_renew(*state, &two, NULL), RENEW_RENEWED);
}

static void take_over_won__late_duplicate_of_it__changes_nothing(void **state)
{
    struct contender one = stopped(*state);
    struct contender two = taker(*state, &one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    struct contender late = two;
    assert_int_equal(contender_claim(*state, &late), CLAIM_HELD);
    assert_int_equal(contender_renew(*state, &two, NULL), RENEW_RENEWED);
    contender_release(*state, &two, OUTCOME_STOPPED, 143);
    late = two;
    late.item.attempt++;
    assert_int_not_equal(contender_claim(*state, &late), CLAIM_WON);
    assert_true(is_interrupted(*state, &one));
}

static void take_over_past_its_limit__wins_for_nobody(void **state)
{
    struct contender one = stopped(*state);
    struct contender two = taker(*state, &one);
    two.item.limit_ms = -1000;
    assert_int_equal(contender_claim(*state, &two), CLAIM_RACED);
    assert_true(is_interrupted(*state, &one));
}

static void take_over_undone__run_is_interrupted_again_and_has_not_started(void **state)
{
    struct contender one = stopped(*state);
    struct contender two = taker(*state, &one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    struct release_item undone = contender_undo(*state, &two);
    assert_int_equal(undone.verdict, RELEASE_RELEASED);
    assert_true(undone.is_recorded);
    struct interrupted_run run = interrupted_of(*state, one.item.key, JOB);
    assert_string_equal(run.run_id, one.run_id);
    assert_int_equal(run.starts, 1);
    assert_int_equal(run.slot_us, one.item.slot_us);
    assert_int_equal(the_run(*state, one.item.key).outcome, OUTCOME_STOPPED);
    struct contender three = taker(*state, &one);
    assert_int_equal(contender_claim(*state, &three), CLAIM_WON);
    assert_int_equal(three.item.starts, 2);
}

static void take_over_won_unanswered__undone_without_fence__run_is_interrupted_again(void **state)
{
    struct contender one = stopped(*state);
    struct contender two = taker(*state, &one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    two.item.fence = 0;
    assert_int_equal(contender_undo(*state, &two).verdict, RELEASE_RELEASED);
    assert_true(is_interrupted(*state, &one));
}

static void take_over_undone_before_it_came__is_raced_and_others_may(void **state)
{
    struct contender one = stopped(*state);
    struct contender late = taker(*state, &one);
    struct contender never_came = late;
    never_came.item.fence = 0;
    contender_undo(*state, &never_came);
    assert_int_equal(contender_claim(*state, &late), CLAIM_RACED);
    struct contender two = taker(*state, &one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
}

/* ---- started often enough ----------------------------------------------------------------- */

static void run_stopped_max_starts_times__given_up_and_told_once(void **state)
{
    struct contender one = stopped(*state);
    struct contender two = taker(*state, &one);
    two.item.max_starts = 2;
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    contender_release(*state, &two, OUTCOME_STOPPED, 143);
    struct contender three = taker(*state, &one);
    struct contender four = taker(*state, &one);
    three.item.max_starts = four.item.max_starts = 2;
    assert_int_equal(contender_claim(*state, &three), CLAIM_DONE);
    assert_true(three.item.is_first_to_tell);
    assert_int_equal(contender_claim_again(*state, &three), CLAIM_DONE);
    assert_true(three.item.is_first_to_tell); /* its first reply may have been lost */
    assert_int_equal(contender_claim(*state, &four), CLAIM_DONE);
    assert_false(four.item.is_first_to_tell);
    assert_false(is_interrupted(*state, &one));
    assert_int_equal(the_run(*state, one.item.key).outcome, OUTCOME_STOPPED);
}

static void holder_dead_and_no_start_left__given_up_as_abandoned(void **state)
{
    struct contender one = started(*state);
    contender_free(*state, &one);
    struct contender two = taker(*state, &one);
    two.item.max_starts = 1;
    assert_int_equal(contender_claim(*state, &two), CLAIM_DONE);
    assert_true(two.item.is_first_to_tell);
    struct run_row run = the_run(*state, one.item.key);
    assert_int_equal(run.outcome, OUTCOME_ABANDONED);
    assert_true(run.finished_us != NO_INSTANT);
    struct contender next = starter(one.item.key);
    next.item.slot_us++;
    assert_int_equal(contender_claim(*state, &next), CLAIM_WON);
    assert_string_equal(next.item.abandoned, ""); /* it was told */
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(run_stopped__recalled__is_interrupted),
        cmocka_unit_test(holder_dead_and_lease_over__recalled__is_interrupted),
        cmocka_unit_test(lease_given_back_by_the_guard__recalled__is_interrupted),
        cmocka_unit_test(runs_that_ended__recalled__are_not_interrupted),
        cmocka_unit_test(run_at_work__recalled__is_not_interrupted),
        cmocka_unit_test(run_of_another_kind_stopped__recalled__is_not_interrupted),
        cmocka_unit_test(first_claim_undone__recalled__is_not_interrupted),
        cmocka_unit_test(run_stopped__recalled_for_another_job_or_not_wanted__is_not_told),
        cmocka_unit_test(key_held_by_the_next_slot__recalled__nothing_is_told),
        cmocka_unit_test(two_slots_stopped__recalled__the_newest_is_told),
        cmocka_unit_test(run_stopped__taken_over__goes_on_under_a_new_mandate),
        cmocka_unit_test(holder_dead__taken_over__is_not_told_as_abandoned),
        cmocka_unit_test(two_who_take_over__one_wins),
        cmocka_unit_test(last_holder_is_late__its_outcome_stands_and_nobody_takes_over),
        cmocka_unit_test(run_taken_over__last_holders_late_messages__change_nothing),
        cmocka_unit_test(key_held__take_over__is_held_and_changes_nothing),
        cmocka_unit_test(key_on_hold__take_over__is_held),
        cmocka_unit_test(later_slot_meets_the_run_of_a_dead_holder__it_is_abandoned_for_good),
        cmocka_unit_test(slot_interrupted__plain_claim_of_it__is_done),
        cmocka_unit_test(run_taken_over__other_unfinished_run_of_the_key__is_closed),
        cmocka_unit_test(reply_lost__take_over_with_next_attempt__wins_and_counts_one_start),
        cmocka_unit_test(take_over_won__late_duplicate_of_it__changes_nothing),
        cmocka_unit_test(take_over_past_its_limit__wins_for_nobody),
        cmocka_unit_test(take_over_undone__run_is_interrupted_again_and_has_not_started),
        cmocka_unit_test(take_over_won_unanswered__undone_without_fence__run_is_interrupted_again),
        cmocka_unit_test(take_over_undone_before_it_came__is_raced_and_others_may),
        cmocka_unit_test(run_stopped_max_starts_times__given_up_and_told_once),
        cmocka_unit_test(holder_dead_and_no_start_left__given_up_as_abandoned),
    };
    return store_fixture_run("takeover", cases, CASE_COUNT(cases));
}
