/* SPDX-License-Identifier: ISC */
#include "store_fixture.h"

#include <string.h>

static struct run_row only_run(struct store_fixture *fixture, const char *key)
{
    size_t count;
    struct run_row run = store_fixture_last_run(fixture, key, &count);
    assert_int_equal(count, 1);
    return run;
}

static void held__released__is_free_and_its_outcome_is_recorded(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    struct release_item item = contender_release(*state, &one, OUTCOME_FAILED, 7);
    assert_int_equal(item.verdict, RELEASE_RELEASED);
    assert_true(item.is_recorded);
    struct run_row run = only_run(*state, one.item.key);
    assert_string_equal(run.run_id, one.run_id);
    assert_string_equal(run.holder, one.holder);
    assert_int_equal(run.fence, one.item.fence);
    assert_int_equal(run.outcome, OUTCOME_FAILED);
    assert_int_equal(run.status, 7);
    assert_true(run.finished_us >= run.started_us);
    struct lease_row row = store_fixture_held(*state, one.item.key);
    assert_int_equal(row.state, LEASE_RELEASED);
    assert_true(row.expires_us >= row.acquired_us);
    assert_int_equal(row.remaining_ms, 0);
}

static void every_outcome__released__is_read_back(void **state)
{
    static const enum run_outcome outcomes[] = {OUTCOME_SUCCEEDED,   OUTCOME_FAILED,
                                                OUTCOME_NOT_STARTED, OUTCOME_TIMED_OUT,
                                                OUTCOME_STOPPED,     OUTCOME_LOST};
    for (size_t i = 0; i < CASE_COUNT(outcomes); i++) {
        struct contender one = contender_winner(*state, store_fixture_key(*state));
        contender_release(*state, &one, outcomes[i], -1);
        struct run_row run = only_run(*state, one.item.key);
        assert_int_equal(run.outcome, outcomes[i]);
        assert_int_equal(run.status, -1);
    }
}

static void released__release_repeated__is_success_and_changes_nothing(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    contender_release(*state, &one, OUTCOME_FAILED, 7);
    int64_t expires_us = store_fixture_held(*state, one.item.key).expires_us;
    store_fixture_wait_ms(*state, 5);
    struct release_item item = contender_release(*state, &one, OUTCOME_FAILED, 7);
    assert_int_equal(item.verdict, RELEASE_RELEASED);
    assert_true(item.is_recorded);
    assert_int_equal(store_fixture_held(*state, one.item.key).expires_us, expires_us);
}

static void outcome_written__another_comes__the_first_stays(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    contender_release(*state, &one, OUTCOME_FAILED, 7);
    assert_false(contender_release(*state, &one, OUTCOME_SUCCEEDED, 0).is_recorded);
    struct run_row run = only_run(*state, one.item.key);
    assert_int_equal(run.outcome, OUTCOME_FAILED);
    assert_int_equal(run.status, 7);
}

static void next_mandate_of_another__late_release_of_the_first__leaves_it(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    contender_free(*state, &one);
    struct contender two = contender_winner(*state, one.item.key);
    struct release_item item = contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(item.verdict, RELEASE_NOT_OURS);
    assert_false(item.is_recorded); /* it was closed as abandoned */
    assert_int_equal(store_fixture_held(*state, one.item.key).state, LEASE_HELD);
    assert_int_equal(contender_renew(*state, &two, NULL), RENEW_RENEWED);
}

static void next_mandate_of_the_same_holder__late_release_of_the_first__leaves_it(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    struct contender first = one;
    assert_int_equal(contender_claim_again(*state, &one), CLAIM_WON);
    struct release_item item = contender_release(*state, &first, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(item.verdict, RELEASE_NOT_OURS);
    assert_false(item.is_recorded);
    assert_int_equal(contender_renew(*state, &one, NULL), RENEW_RENEWED);
    assert_int_equal(only_run(*state, one.item.key).outcome, OUTCOME_NONE);
}

static void expired_and_not_taken__released__is_released_and_recorded(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.ttl_ms = MOMENT_MS;
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    store_fixture_wait_ms(*state, MOMENT_MS + 20);
    struct release_item item = contender_release(*state, &one, OUTCOME_LOST, 137);
    assert_int_equal(item.verdict, RELEASE_RELEASED);
    assert_true(item.is_recorded);
    assert_int_equal(only_run(*state, one.item.key).outcome, OUTCOME_LOST);
    assert_string_equal(contender_winner(*state, one.item.key).item.abandoned, "");
}

static void no_such_key__released__is_not_ours(void **state)
{
    struct contender nobody = contender(store_fixture_key(*state));
    nobody.item.fence = 1;
    struct release_item item = contender_release(*state, &nobody, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(item.verdict, RELEASE_NOT_OURS);
    assert_false(item.is_recorded);
}

static void some_ours_some_not__released_at_once__have_a_verdict_each(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    struct contender nobody = contender(store_fixture_key(*state));
    struct contender two = contender_winner(*state, store_fixture_key(*state));
    struct contender *all[] = {&two, &nobody, &one};
    struct release_item items[3];
    for (size_t i = 0; i < 3; i++)
        items[i] = (struct release_item){.key = all[i]->item.key,
                                         .holder = all[i]->holder,
                                         .fence = all[i]->item.fence,
                                         .run_id = all[i]->run_id,
                                         .outcome = OUTCOME_SUCCEEDED,
                                         .status = (int)i};
    struct store_request request = {.kind = STORE_RELEASE,
                                    .u.release = {.items = items, .count = 3}};
    assert_int_equal(store_fixture_ask(*state, &request), STORE_ANSWERED);
    assert_int_equal(items[0].verdict, RELEASE_RELEASED);
    assert_int_equal(items[1].verdict, RELEASE_NOT_OURS);
    assert_int_equal(items[2].verdict, RELEASE_RELEASED);
    assert_int_equal(only_run(*state, two.item.key).status, 0);
    assert_int_equal(only_run(*state, one.item.key).status, 2);
}

/* ---- undo, free --------------------------------------------------------------------------- */

static void won_and_not_started__undone__leaves_no_run(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    assert_int_equal(contender_undo(*state, &one).verdict, RELEASE_RELEASED);
    size_t count;
    store_fixture_last_run(*state, one.item.key, &count);
    assert_int_equal(count, 0);
    struct contender two = contender_winner(*state, one.item.key);
    assert_true(two.item.fence > one.item.fence);
    assert_string_equal(two.item.abandoned, "");
}

static void won_with_hold_and_not_started__undone__is_free_at_once(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.hold_ms = FOREVER_MS;
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    contender_undo(*state, &one);
    contender_winner(*state, one.item.key);
}

static void finished__late_undo__does_not_take_the_run_away(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    contender_undo(*state, &one);
    assert_int_equal(only_run(*state, one.item.key).outcome, OUTCOME_SUCCEEDED);
}

static void held__freed_by_holder_whatever_the_fence__leaves_the_run_unfinished(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    struct contender guard = one;
    guard.item.fence = 0;
    assert_int_equal(contender_free(*state, &guard).verdict, RELEASE_RELEASED);
    assert_int_equal(contender_free(*state, &guard).verdict, RELEASE_RELEASED);
    assert_int_equal(store_fixture_held(*state, one.item.key).state, LEASE_RELEASED);
    struct run_row run = only_run(*state, one.item.key);
    assert_int_equal(run.outcome, OUTCOME_NONE);
    assert_true(run.finished_us == NO_INSTANT);
}

static void held_by_another__freed__is_not_ours(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    struct contender stranger = contender(one.item.key);
    assert_int_equal(contender_free(*state, &stranger).verdict, RELEASE_NOT_OURS);
    assert_int_equal(contender_renew(*state, &one, NULL), RENEW_RENEWED);
    stranger.item.key = store_fixture_key(*state);
    assert_int_equal(contender_free(*state, &stranger).verdict, RELEASE_NOT_OURS);
}

/* ---- by hand ------------------------------------------------------------------------------ */

static void no_such_key__released_by_hand__is_unknown(void **state)
{
    const char *key = store_fixture_key(*state);
    assert_int_equal(store_fixture_revoke(*state, key, false).verdict, REVOKE_UNKNOWN);
    assert_int_equal(store_fixture_revoke(*state, key, true).verdict, REVOKE_UNKNOWN);
}

static void held__released_by_hand_without_stop__changes_nothing(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    struct revoke revoke = store_fixture_revoke(*state, one.item.key, false);
    assert_int_equal(revoke.verdict, REVOKE_LIVE);
    assert_string_equal(revoke.other, one.holder);
    assert_in_range(revoke.wait_ms, FOREVER_MS - 30000, FOREVER_MS);
    assert_int_equal(contender_renew(*state, &one, NULL), RENEW_RENEWED);
}

static void held__stopped_by_hand__stays_held_until_it_is_given_back(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    struct revoke revoke = store_fixture_revoke(*state, one.item.key, true);
    assert_int_equal(revoke.verdict, REVOKE_MARKED);
    assert_string_equal(revoke.other, one.holder);
    assert_in_range(revoke.wait_ms, FOREVER_MS - 30000, FOREVER_MS);
    assert_true(store_fixture_held(*state, one.item.key).is_revoked);
    struct contender two = contender(one.item.key);
    assert_int_equal(contender_claim(*state, &two), CLAIM_HELD);
    struct release_item item = contender_release(*state, &one, OUTCOME_STOPPED, 143);
    assert_int_equal(item.verdict, RELEASE_RELEASED);
    assert_true(item.is_recorded);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    assert_int_equal(contender_renew(*state, &two, NULL), RENEW_RENEWED);
}

static void stopped_by_hand_and_never_given_back__expires__is_free(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.ttl_ms = MOMENT_MS;
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    store_fixture_revoke(*state, one.item.key, true);
    store_fixture_wait_ms(*state, MOMENT_MS + 20);
    contender_winner(*state, one.item.key);
}

static void ended__released_by_hand__is_free(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.ttl_ms = MOMENT_MS;
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    store_fixture_wait_ms(*state, MOMENT_MS + 20);
    assert_int_equal(store_fixture_revoke(*state, one.item.key, false).verdict, REVOKE_FREED);
    assert_int_equal(store_fixture_held(*state, one.item.key).state, LEASE_RELEASED);
    assert_int_equal(store_fixture_revoke(*state, one.item.key, true).verdict, REVOKE_FREED);
    contender_winner(*state, one.item.key);
}

static void on_hold__released_by_hand__stays_on_hold(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.hold_ms = FOREVER_MS;
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(store_fixture_revoke(*state, one.item.key, true).verdict, REVOKE_FREED);
    assert_int_equal(store_fixture_held(*state, one.item.key).state, LEASE_ON_HOLD);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(held__released__is_free_and_its_outcome_is_recorded),
        cmocka_unit_test(every_outcome__released__is_read_back),
        cmocka_unit_test(released__release_repeated__is_success_and_changes_nothing),
        cmocka_unit_test(outcome_written__another_comes__the_first_stays),
        cmocka_unit_test(next_mandate_of_another__late_release_of_the_first__leaves_it),
        cmocka_unit_test(next_mandate_of_the_same_holder__late_release_of_the_first__leaves_it),
        cmocka_unit_test(expired_and_not_taken__released__is_released_and_recorded),
        cmocka_unit_test(no_such_key__released__is_not_ours),
        cmocka_unit_test(some_ours_some_not__released_at_once__have_a_verdict_each),
        cmocka_unit_test(won_and_not_started__undone__leaves_no_run),
        cmocka_unit_test(won_with_hold_and_not_started__undone__is_free_at_once),
        cmocka_unit_test(finished__late_undo__does_not_take_the_run_away),
        cmocka_unit_test(held__freed_by_holder_whatever_the_fence__leaves_the_run_unfinished),
        cmocka_unit_test(held_by_another__freed__is_not_ours),
        cmocka_unit_test(no_such_key__released_by_hand__is_unknown),
        cmocka_unit_test(held__released_by_hand_without_stop__changes_nothing),
        cmocka_unit_test(held__stopped_by_hand__stays_held_until_it_is_given_back),
        cmocka_unit_test(stopped_by_hand_and_never_given_back__expires__is_free),
        cmocka_unit_test(ended__released_by_hand__is_free),
        cmocka_unit_test(on_hold__released_by_hand__stays_on_hold),
    };
    return store_fixture_run("release", cases, CASE_COUNT(cases));
}
