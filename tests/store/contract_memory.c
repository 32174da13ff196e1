/* SPDX-License-Identifier: ISC */
/* What the store keeps of slots that were not started, and of the schedule that named them. */
#include "store_fixture.h"

#include <string.h>

static struct contender due_ago(const char *key, int64_t ago_us)
{
    struct contender one = contender(key);
    one.item.slot_us = now_wall_us() - ago_us;
    return one;
}

static struct contender skipping(const char *key, int64_t slot_us)
{
    struct contender one = contender(key);
    one.item.slot_us = slot_us;
    one.item.is_skipping = true;
    return one;
}

static struct recall_item recall(struct store_fixture *fixture, const char *key)
{
    struct recall_item item = {.key = key};
    struct store_request request = {.kind = STORE_RECALL, .u.recall = {.items = &item, .count = 1}};
    assert_int_equal(store_fixture_ask(fixture, &request), STORE_ANSWERED);
    return item;
}

/* ---- a slot that is given up -------------------------------------------------------------- */

static void key_held__skipping_claims_of_the_next_slot__give_it_up_and_the_first_tells(void **state)
{
    struct contender running = due_ago(store_fixture_key(*state), 10 * SECOND_US);
    assert_int_equal(contender_claim(*state, &running), CLAIM_WON);
    struct contender one = skipping(running.item.key, now_wall_us());
    struct contender two = skipping(running.item.key, one.item.slot_us);
    assert_int_equal(contender_claim(*state, &one), CLAIM_SKIPPED);
    assert_true(one.item.is_first_to_tell);
    assert_string_equal(one.item.other, running.holder);
    assert_int_equal(contender_claim(*state, &two), CLAIM_SKIPPED);
    assert_false(two.item.is_first_to_tell);
    assert_int_equal(contender_claim_again(*state, &one), CLAIM_SKIPPED);
    assert_true(one.item.is_first_to_tell); /* its first reply may have been lost */

    size_t count;
    struct run_row run = store_fixture_last_run(*state, one.item.key, &count);
    assert_int_equal(count, 2);
    assert_int_equal(run.outcome, OUTCOME_SKIPPED);
    assert_int_equal(run.slot_us, one.item.slot_us);
    assert_true(run.started_us == NO_INSTANT);
    assert_int_equal(contender_renew(*state, &running, NULL), RENEW_RENEWED);
}

static void slot_skipped__claims_once_the_key_is_free__stay_skipped(void **state)
{
    struct contender running = contender_winner(*state, store_fixture_key(*state));
    struct contender one = skipping(running.item.key, now_wall_us());
    assert_int_equal(contender_claim(*state, &one), CLAIM_SKIPPED);
    contender_release(*state, &running, OUTCOME_SUCCEEDED, 0);
    struct contender patient = contender(running.item.key);
    patient.item.slot_us = one.item.slot_us;
    assert_int_equal(contender_claim(*state, &patient), CLAIM_SKIPPED);
    assert_false(patient.item.is_first_to_tell);
    struct contender next = skipping(running.item.key, one.item.slot_us + 1);
    assert_int_equal(contender_claim(*state, &next), CLAIM_WON);
}

static void slot_started_and_running__skipping_claim_of_it__is_done(void **state)
{
    struct contender running = due_ago(store_fixture_key(*state), 0);
    assert_int_equal(contender_claim(*state, &running), CLAIM_WON);
    struct contender one = skipping(running.item.key, running.item.slot_us);
    assert_int_equal(contender_claim(*state, &one), CLAIM_DONE);
    size_t count;
    store_fixture_last_run(*state, one.item.key, &count);
    assert_int_equal(count, 1);
}

static void late_duplicate_of_ones_own_winning_claim__skipping__gives_nothing_up(void **state)
{
    struct contender one = skipping(store_fixture_key(*state), now_wall_us());
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    struct contender duplicate = one;
    assert_int_not_equal(contender_claim(*state, &duplicate), CLAIM_SKIPPED);
    size_t count;
    struct run_row run = store_fixture_last_run(*state, one.item.key, &count);
    assert_int_equal(count, 1);
    assert_int_equal(run.outcome, OUTCOME_NONE);
}

static void key_on_hold__skipping_claim__is_held(void **state)
{
    struct contender before = contender(store_fixture_key(*state));
    before.item.hold_ms = FOREVER_MS;
    assert_int_equal(contender_claim(*state, &before), CLAIM_WON);
    contender_release(*state, &before, OUTCOME_SUCCEEDED, 0);
    struct contender one = skipping(before.item.key, now_wall_us());
    assert_int_equal(contender_claim(*state, &one), CLAIM_HELD);
    assert_true(one.item.is_on_hold);
}

static void key_held__skipping_claim_without_slot__is_held(void **state)
{
    struct contender running = contender_winner(*state, store_fixture_key(*state));
    struct contender one = skipping(running.item.key, NO_INSTANT);
    assert_int_equal(contender_claim(*state, &one), CLAIM_HELD);
    size_t count;
    store_fixture_last_run(*state, one.item.key, &count);
    assert_int_equal(count, 1);
}

static void key_held__skipping_claim_past_its_limit__gives_nothing_up(void **state)
{
    struct contender running = contender_winner(*state, store_fixture_key(*state));
    struct contender late = skipping(running.item.key, now_wall_us());
    late.item.limit_ms = -1000;
    assert_int_equal(contender_claim(*state, &late), CLAIM_RACED);
    size_t count;
    store_fixture_last_run(*state, late.item.key, &count);
    assert_int_equal(count, 1);
}

/* ---- the schedule's fingerprint ----------------------------------------------------------- */

static void claims_with_fingerprints__each_is_told_the_one_before(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.fingerprint = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    assert_string_equal(one.item.previous_fingerprint, "");
    struct contender two = contender(one.item.key);
    two.item.fingerprint = "b";
    assert_int_equal(contender_claim(*state, &two), CLAIM_HELD);
    assert_string_equal(two.item.previous_fingerprint, one.item.fingerprint);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    assert_string_equal(two.item.previous_fingerprint, one.item.fingerprint);
    assert_string_equal(recall(*state, one.item.key).fingerprint, "b");
}

static void claims_without_fingerprint__leave_the_rows(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.fingerprint = "a";
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    struct contender by_hand = contender_winner(*state, one.item.key);
    contender_release(*state, &by_hand, OUTCOME_SUCCEEDED, 0);
    struct contender of_slot = due_ago(one.item.key, 0);
    assert_int_equal(contender_claim(*state, &of_slot), CLAIM_WON);
    assert_int_equal(contender_renew(*state, &of_slot, NULL), RENEW_RENEWED);
    contender_release(*state, &of_slot, OUTCOME_SUCCEEDED, 0);
    assert_string_equal(recall(*state, one.item.key).fingerprint, "a");
}

/* ---- recall ------------------------------------------------------------------------------- */

static void unknown_key__recalled__has_nothing(void **state)
{
    struct recall_item item = recall(*state, store_fixture_key(*state));
    assert_true(item.slot_us == NO_INSTANT);
    assert_int_equal(item.outcome, OUTCOME_COUNT);
    assert_true(item.written_us == NO_INSTANT);
    assert_string_equal(item.fingerprint, "");
}

static void key_run_without_slot__recalled__has_no_slot(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    struct recall_item item = recall(*state, one.item.key);
    assert_true(item.slot_us == NO_INSTANT);
    assert_in_range(item.written_us, now_wall_us() - 60 * SECOND_US, now_wall_us() + SECOND_US);
}

static void slots_of_all_outcomes__recalled__the_latest_is_told(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender started = due_ago(key, 100 * SECOND_US);
    assert_int_equal(contender_claim(*state, &started), CLAIM_WON);
    assert_int_equal(recall(*state, key).slot_us, started.item.slot_us);
    assert_int_equal(recall(*state, key).outcome, OUTCOME_NONE);
    struct contender skipped = skipping(key, now_wall_us() - 50 * SECOND_US);
    assert_int_equal(contender_claim(*state, &skipped), CLAIM_SKIPPED);
    assert_int_equal(recall(*state, key).slot_us, skipped.item.slot_us);
    assert_int_equal(recall(*state, key).outcome, OUTCOME_SKIPPED);
    struct contender missed = due_ago(key, 20 * SECOND_US);
    missed.item.start_within_ms = 1000;
    assert_int_equal(contender_claim(*state, &missed), CLAIM_MISSED);
    assert_int_equal(recall(*state, key).slot_us, missed.item.slot_us);
    assert_int_equal(recall(*state, key).outcome, OUTCOME_MISSED);
}

static void runs_purged__recalled__the_leases_slot_is_told(void **state)
{
    struct contender one = due_ago(store_fixture_key(*state), 0);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    store_fixture_wait_ms(*state, 20);
    store_fixture_purge(
        *state, (struct purge){.lease_retention_ms = FOREVER_MS, .slot_retention_ms = FOREVER_MS});
    size_t count;
    store_fixture_last_run(*state, one.item.key, &count);
    assert_int_equal(count, 0);
    assert_int_equal(recall(*state, one.item.key).slot_us, one.item.slot_us);
    assert_int_equal(recall(*state, one.item.key).outcome, OUTCOME_COUNT);
}

static void slot_undone__recalled__is_not_told(void **state)
{
    struct contender one = due_ago(store_fixture_key(*state), 0);
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    contender_undo(*state, &one);
    assert_true(recall(*state, one.item.key).slot_us == NO_INSTANT);
}

static void many_keys__recalled_at_once__each_has_its_own(void **state)
{
    struct contender one = due_ago(store_fixture_key(*state), 0);
    struct contender two = due_ago(store_fixture_key(*state), 5 * SECOND_US);
    one.item.fingerprint = "quote \" and \\";
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    struct recall_item items[3] = {
        {.key = two.item.key}, {.key = store_fixture_key(*state)}, {.key = one.item.key}};
    struct store_request request = {.kind = STORE_RECALL, .u.recall = {.items = items, .count = 3}};
    assert_int_equal(store_fixture_ask(*state, &request), STORE_ANSWERED);
    assert_int_equal(items[0].slot_us, two.item.slot_us);
    assert_true(items[1].slot_us == NO_INSTANT);
    assert_int_equal(items[2].slot_us, one.item.slot_us);
    assert_string_equal(items[2].fingerprint, one.item.fingerprint);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(
            key_held__skipping_claims_of_the_next_slot__give_it_up_and_the_first_tells),
        cmocka_unit_test(slot_skipped__claims_once_the_key_is_free__stay_skipped),
        cmocka_unit_test(slot_started_and_running__skipping_claim_of_it__is_done),
        cmocka_unit_test(late_duplicate_of_ones_own_winning_claim__skipping__gives_nothing_up),
        cmocka_unit_test(key_on_hold__skipping_claim__is_held),
        cmocka_unit_test(key_held__skipping_claim_without_slot__is_held),
        cmocka_unit_test(key_held__skipping_claim_past_its_limit__gives_nothing_up),
        cmocka_unit_test(claims_with_fingerprints__each_is_told_the_one_before),
        cmocka_unit_test(claims_without_fingerprint__leave_the_rows),
        cmocka_unit_test(unknown_key__recalled__has_nothing),
        cmocka_unit_test(key_run_without_slot__recalled__has_no_slot),
        cmocka_unit_test(slots_of_all_outcomes__recalled__the_latest_is_told),
        cmocka_unit_test(runs_purged__recalled__the_leases_slot_is_told),
        cmocka_unit_test(slot_undone__recalled__is_not_told),
        cmocka_unit_test(many_keys__recalled_at_once__each_has_its_own),
    };
    return store_fixture_run("memory", cases, CASE_COUNT(cases));
}
