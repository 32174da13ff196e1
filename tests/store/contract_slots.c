/* SPDX-License-Identifier: ISC */
#include "store_fixture.h"

/* A slot that was due so long ago, with a window; the store runs on this host's clock. */
static struct contender late_by(const char *key, int64_t late_us, int64_t window_ms)
{
    struct contender one = contender(key);
    one.item.slot_us = now_wall_us() - late_us;
    one.item.start_within_ms = window_ms;
    return one;
}

static struct contender rival(const struct contender *one)
{
    struct contender two = contender(one->item.key);
    two.item.slot_us = one->item.slot_us;
    two.item.start_within_ms = one->item.start_within_ms;
    return two;
}

static void slot_started_and_running__claim_by_another__is_done(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 0, 60000);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    assert_int_equal(store_fixture_held(*state, one.item.key).slot_us, one.item.slot_us);
    struct contender two = rival(&one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_DONE);
}

static void slot_finished__claim_by_another__is_done(void **state)
{
    static const enum run_outcome outcomes[] = {OUTCOME_SUCCEEDED,   OUTCOME_FAILED,
                                                OUTCOME_NOT_STARTED, OUTCOME_TIMED_OUT,
                                                OUTCOME_STOPPED,     OUTCOME_LOST};
    for (size_t i = 0; i < CASE_COUNT(outcomes); i++) {
        struct contender one = late_by(store_fixture_key(*state), 0, 60000);
        assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
        contender_release(*state, &one, outcomes[i], 0);
        struct contender two = rival(&one);
        assert_int_equal(contender_claim(*state, &two), CLAIM_DONE);
    }
}

static void slot_abandoned__claim_of_it__is_done(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 0, 60000);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    contender_free(*state, &one);
    struct contender two = rival(&one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_DONE);
}

static void previous_slot_still_runs__claim_of_the_next__is_held(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 10 * SECOND_US, 60000);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    struct contender two = late_by(one.item.key, 0, 60000);
    assert_int_equal(contender_claim(*state, &two), CLAIM_HELD);
    assert_string_equal(two.item.other, one.holder);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
}

static void slot_started__same_instant_of_another_key__is_won(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 0, 60000);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    struct contender two = rival(&one);
    two.item.key = store_fixture_key(*state);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
}

static void reply_lost__claim_of_the_slot_with_next_attempt__wins(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 0, 60000);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    int64_t fence = one.item.fence;
    assert_int_equal(contender_claim_again(*state, &one), CLAIM_WON);
    assert_true(one.item.fence > fence);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    struct contender duplicate = one;
    assert_int_not_equal(contender_claim(*state, &duplicate), CLAIM_WON);
    assert_int_not_equal(contender_claim_again(*state, &duplicate), CLAIM_WON);
}

/* ---- when --------------------------------------------------------------------------------- */

static void slot_far_ahead__claim__is_early_by_that_much(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), -5 * SECOND_US, 60000);
    assert_int_equal(contender_claim(*state, &one), CLAIM_EARLY);
    assert_in_range(one.item.wait_ms, 3500, 5000);
    size_t count;
    store_fixture_last_run(*state, one.item.key, &count);
    assert_int_equal(count, 0);
}

static void slot_less_than_a_second_ahead__claim__wins(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), -SECOND_US / 2, 60000);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
}

static void slot_late_within_its_window__claim__wins(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 20 * SECOND_US, 60000);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
}

static void slot_without_window__claim_a_year_late__wins(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 365 * 86400 * SECOND_US, -1);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
}

static void window_over__claims__are_missed_and_the_first_tells(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 61 * SECOND_US, 60000);
    struct contender two = rival(&one);
    assert_int_equal(contender_claim(*state, &one), CLAIM_MISSED);
    assert_true(one.item.is_first_to_tell);
    assert_int_equal(contender_claim(*state, &two), CLAIM_MISSED);
    assert_false(two.item.is_first_to_tell);
    assert_int_equal(contender_claim(*state, &one), CLAIM_MISSED);
    assert_true(one.item.is_first_to_tell); /* its first reply may have been lost */

    size_t count;
    struct run_row run = store_fixture_last_run(*state, one.item.key, &count);
    assert_int_equal(count, 1);
    assert_int_equal(run.outcome, OUTCOME_MISSED);
    assert_int_equal(run.slot_us, one.item.slot_us);
    assert_true(run.started_us == NO_INSTANT);
    assert_true(run.finished_us != NO_INSTANT);
    assert_int_equal(run.status, -1);
}

static void window_over_while_the_previous_runs__claim__is_missed(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 120 * SECOND_US, -1);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    struct contender two = late_by(one.item.key, 61 * SECOND_US, 60000);
    assert_int_equal(contender_claim(*state, &two), CLAIM_MISSED);
    assert_int_equal(contender_renew(*state, &one, NULL), RENEW_RENEWED);
}

static void missed_slot__claim_with_a_longer_window__stays_missed(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 61 * SECOND_US, 60000);
    assert_int_equal(contender_claim(*state, &one), CLAIM_MISSED);
    struct contender two = rival(&one);
    two.item.start_within_ms = -1;
    assert_int_equal(contender_claim(*state, &two), CLAIM_MISSED);
}

/* ---- by hand ------------------------------------------------------------------------------ */

/* Of the slot of another, which nobody has started. */
static struct contender by_hand(const struct contender *other)
{
    struct contender one = rival(other);
    one.item.start_within_ms = -1;
    one.item.is_by_hand = true;
    return one;
}

static struct contender missed(struct store_fixture *fixture)
{
    struct contender one = late_by(store_fixture_key(fixture), 61 * SECOND_US, 60000);
    assert_int_equal(contender_claim(fixture, &one), CLAIM_MISSED);
    return one;
}

static void missed_slot__claim_by_hand__wins_once_and_the_row_is_its_run(void **state)
{
    struct contender scheduler = missed(*state);
    struct contender one = by_hand(&scheduler), two = by_hand(&scheduler);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    assert_int_equal(contender_claim(*state, &two), CLAIM_DONE);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(contender_claim(*state, &two), CLAIM_DONE);
    assert_int_equal(contender_claim(*state, &scheduler), CLAIM_DONE);

    size_t count;
    struct run_row run = store_fixture_last_run(*state, one.item.key, &count);
    assert_int_equal(count, 1);
    assert_string_equal(run.run_id, one.run_id);
    assert_string_equal(run.holder, one.holder);
    assert_int_equal(run.outcome, OUTCOME_SUCCEEDED);
    assert_int_equal(run.slot_us, scheduler.item.slot_us);
    assert_true(run.started_us != NO_INSTANT);
    assert_int_equal(run.status, 0);
}

static void skipped_slot__claim_by_hand__is_held_and_then_wins(void **state)
{
    struct contender holder = contender_winner(*state, store_fixture_key(*state));
    struct contender scheduler = late_by(holder.item.key, 0, 60000);
    scheduler.item.is_skipping = true;
    assert_int_equal(contender_claim(*state, &scheduler), CLAIM_SKIPPED);
    struct contender one = by_hand(&scheduler);
    assert_int_equal(contender_claim(*state, &one), CLAIM_HELD);
    contender_release(*state, &holder, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    size_t count;
    store_fixture_last_run(*state, one.item.key, &count);
    assert_int_equal(count, 2); /* the holder's and this one */
}

static void slot_that_was_run__claim_by_hand__is_done(void **state)
{
    struct contender scheduler = late_by(store_fixture_key(*state), 0, 60000);
    assert_int_equal(contender_claim(*state, &scheduler), CLAIM_WON);
    contender_release(*state, &scheduler, OUTCOME_FAILED, 1);
    struct contender one = by_hand(&scheduler);
    assert_int_equal(contender_claim(*state, &one), CLAIM_DONE);
}

static void made_up_slot__reply_lost__next_attempt_wins(void **state)
{
    struct contender scheduler = missed(*state);
    struct contender one = by_hand(&scheduler);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    int64_t fence = one.item.fence;
    assert_int_equal(contender_claim_again(*state, &one), CLAIM_WON);
    assert_true(one.item.fence > fence);
    assert_true(contender_release(*state, &one, OUTCOME_SUCCEEDED, 0).is_recorded);
}

static void made_up_slot__undone__is_open_again(void **state)
{
    struct contender scheduler = missed(*state);
    struct contender one = by_hand(&scheduler), two = by_hand(&scheduler);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    assert_true(contender_undo(*state, &one).is_recorded);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    assert_string_equal(two.item.abandoned, "");
}

static void claim_by_hand__undone_before_it_arrives__the_slot_stays_missed(void **state)
{
    struct contender scheduler = missed(*state);
    struct contender late = by_hand(&scheduler), next = by_hand(&scheduler);
    contender_undo(*state, &late);
    assert_int_equal(contender_claim(*state, &late), CLAIM_RACED);
    assert_int_equal(contender_claim(*state, &scheduler), CLAIM_MISSED);
    assert_int_equal(contender_claim(*state, &next), CLAIM_WON);
}

/* ---- undone, and without slot ------------------------------------------------------------- */

static void slot_undone__claim_by_another__wins(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 0, 60000);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    struct release_item undone = contender_undo(*state, &one);
    assert_int_equal(undone.verdict, RELEASE_RELEASED);
    size_t count;
    store_fixture_last_run(*state, one.item.key, &count);
    assert_int_equal(count, 0);

    struct contender two = rival(&one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    assert_string_equal(two.item.abandoned, "");
    assert_true(two.item.fence > one.item.fence);
}

static void slot_undone_and_won_by_another__undo_comes_again__changes_nothing(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 0, 60000);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    contender_undo(*state, &one);
    assert_int_equal(contender_undo(*state, &one).verdict, RELEASE_RELEASED);
    struct contender two = rival(&one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    assert_int_equal(contender_undo(*state, &one).verdict, RELEASE_NOT_OURS);
    assert_int_equal(contender_renew(*state, &two, NULL), RENEW_RENEWED);
    struct contender three = rival(&one);
    assert_int_equal(contender_claim(*state, &three), CLAIM_DONE);
}

static void
slot_won_by_an_unanswered_claim__undone_whatever_the_fence__claim_by_another__wins(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 0, 60000);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    struct contender unaware = one;
    unaware.item.fence = 0;
    assert_int_equal(contender_undo(*state, &unaware).verdict, RELEASE_RELEASED);
    struct contender two = rival(&one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    assert_string_equal(two.item.abandoned, "");
    assert_int_equal(contender_undo(*state, &unaware).verdict, RELEASE_NOT_OURS);
    assert_int_equal(contender_renew(*state, &two, NULL), RENEW_RENEWED);
}

static void unanswered_claim_undone__it_arrives_after_anothers_run__wins_nothing(void **state)
{
    struct contender late = late_by(store_fixture_key(*state), 0, 60000);
    assert_int_equal(contender_undo(*state, &late).verdict, RELEASE_NOT_OURS);
    struct contender other = contender_winner(*state, late.item.key);
    contender_release(*state, &other, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(contender_claim(*state, &late), CLAIM_RACED);
    struct contender next = rival(&late); /* the slot is open */
    assert_int_equal(contender_claim(*state, &next), CLAIM_WON);
    size_t count;
    store_fixture_last_run(*state, late.item.key, &count);
    assert_int_equal(count, 2);
}

static void key_is_new__undone_before_its_claim_arrives__the_claim_wins_nothing(void **state)
{
    struct contender late = contender(store_fixture_key(*state));
    contender_undo(*state, &late);
    assert_int_equal(contender_claim(*state, &late), CLAIM_RACED);
    bool exists;
    store_fixture_lease(*state, late.item.key, &exists);
    assert_false(exists);
}

static void won_and_undone__earlier_attempt_arrives_after_anothers_run__wins_nothing(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 0, 60000);
    one.item.attempt = 2;
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    assert_true(contender_undo(*state, &one).is_recorded);
    assert_true(contender_undo(*state, &one).is_recorded); /* repeated */
    struct contender other = contender_winner(*state, one.item.key);
    assert_string_equal(other.item.abandoned, "");
    contender_release(*state, &other, OUTCOME_SUCCEEDED, 0);
    for (one.item.attempt = 1; one.item.attempt <= 3; one.item.attempt++)
        assert_int_equal(contender_claim(*state, &one), CLAIM_RACED);
}

static void undone_long_ago__purge__forgets_it_before_other_runs(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    contender_undo(*state, &one);
    store_fixture_wait_ms(*state, 20);
    struct purge all = {.lease_retention_ms = FOREVER_MS,
                        .slot_retention_ms = FOREVER_MS,
                        .run_retention_ms = FOREVER_MS};
    assert_int_equal(store_fixture_purge(*state, all).runs_deleted, 0);
    all.lease_retention_ms = 0;
    assert_true(store_fixture_purge(*state, all).runs_deleted > 0);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
}

static void slot_done__claim_without_slot__leaves_it_done(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 0, 60000);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    struct contender by_hand = contender_winner(*state, one.item.key);
    contender_release(*state, &by_hand, OUTCOME_SUCCEEDED, 0);
    struct contender two = rival(&one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_DONE);
}

static void slot_done__claim_of_an_older_one__is_won(void **state)
{
    struct contender one = late_by(store_fixture_key(*state), 10 * SECOND_US, -1);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    struct contender older = late_by(one.item.key, 20 * SECOND_US, -1);
    assert_int_equal(contender_claim(*state, &older), CLAIM_WON);
    contender_release(*state, &older, OUTCOME_SUCCEEDED, 0);
    struct contender two = rival(&one);
    assert_int_equal(contender_claim(*state, &two), CLAIM_DONE);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(slot_started_and_running__claim_by_another__is_done),
        cmocka_unit_test(slot_finished__claim_by_another__is_done),
        cmocka_unit_test(slot_abandoned__claim_of_it__is_done),
        cmocka_unit_test(previous_slot_still_runs__claim_of_the_next__is_held),
        cmocka_unit_test(slot_started__same_instant_of_another_key__is_won),
        cmocka_unit_test(reply_lost__claim_of_the_slot_with_next_attempt__wins),
        cmocka_unit_test(slot_far_ahead__claim__is_early_by_that_much),
        cmocka_unit_test(slot_less_than_a_second_ahead__claim__wins),
        cmocka_unit_test(slot_late_within_its_window__claim__wins),
        cmocka_unit_test(slot_without_window__claim_a_year_late__wins),
        cmocka_unit_test(window_over__claims__are_missed_and_the_first_tells),
        cmocka_unit_test(window_over_while_the_previous_runs__claim__is_missed),
        cmocka_unit_test(missed_slot__claim_with_a_longer_window__stays_missed),
        cmocka_unit_test(missed_slot__claim_by_hand__wins_once_and_the_row_is_its_run),
        cmocka_unit_test(skipped_slot__claim_by_hand__is_held_and_then_wins),
        cmocka_unit_test(slot_that_was_run__claim_by_hand__is_done),
        cmocka_unit_test(made_up_slot__reply_lost__next_attempt_wins),
        cmocka_unit_test(made_up_slot__undone__is_open_again),
        cmocka_unit_test(claim_by_hand__undone_before_it_arrives__the_slot_stays_missed),
        cmocka_unit_test(slot_undone__claim_by_another__wins),
        cmocka_unit_test(
            slot_won_by_an_unanswered_claim__undone_whatever_the_fence__claim_by_another__wins),
        cmocka_unit_test(slot_undone_and_won_by_another__undo_comes_again__changes_nothing),
        cmocka_unit_test(unanswered_claim_undone__it_arrives_after_anothers_run__wins_nothing),
        cmocka_unit_test(key_is_new__undone_before_its_claim_arrives__the_claim_wins_nothing),
        cmocka_unit_test(won_and_undone__earlier_attempt_arrives_after_anothers_run__wins_nothing),
        cmocka_unit_test(undone_long_ago__purge__forgets_it_before_other_runs),
        cmocka_unit_test(slot_done__claim_without_slot__leaves_it_done),
        cmocka_unit_test(slot_done__claim_of_an_older_one__is_won),
    };
    return store_fixture_run("slots", cases, CASE_COUNT(cases));
}
