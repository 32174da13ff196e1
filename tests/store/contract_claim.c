/* SPDX-License-Identifier: ISC */
#include "store_fixture.h"

#include <stdio.h>
#include <string.h>

#define CLAIM(fixture, contender) contender_claim(fixture, contender)

static void free_key__claim__is_won_and_shown(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender one = contender_winner(*state, key);
    assert_true(one.item.fence > 0);
    assert_string_equal(one.item.abandoned, "");
    assert_string_equal(one.item.other, "");
    struct lease_row row = store_fixture_held(*state, key);
    assert_int_equal(row.state, LEASE_HELD);
    assert_string_equal(row.holder, one.holder);
    assert_int_equal(row.fence, one.item.fence);
}

static void held_key__claim_by_another__is_told_by_whom_and_how_long(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender one = contender_winner(*state, key);
    struct contender two = contender(key);
    assert_int_equal(CLAIM(*state, &two), CLAIM_HELD);
    assert_false(two.item.is_on_hold);
    assert_string_equal(two.item.other, one.holder);
    assert_in_range(two.item.wait_ms, FOREVER_MS - 30000, FOREVER_MS);
    struct lease_row row = store_fixture_held(*state, key);
    assert_int_equal(two.item.held_since_us, row.acquired_us);
    assert_true(two.item.held_since_us <= now_wall_us());
}

static void held_key__many_lose__nothing_changes(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender one = contender_winner(*state, key);
    struct lease_row before = store_fixture_held(*state, key);
    int64_t expires_us = before.expires_us;
    for (int i = 0; i < 10; i++) {
        struct contender loser = contender(key);
        assert_int_equal(CLAIM(*state, &loser), CLAIM_HELD);
    }
    struct lease_row after = store_fixture_held(*state, key);
    assert_int_equal(after.expires_us, expires_us);
    assert_int_equal(after.fence, one.item.fence);
    size_t count;
    store_fixture_last_run(*state, key, &count);
    assert_int_equal(count, 1);
}

/* ---- the same holder again ---------------------------------------------------------------- */

static void reply_lost__claim_with_next_attempt__wins_with_greater_fence(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender one = contender_winner(*state, key);
    struct contender before = one;
    assert_int_equal(contender_claim_again(*state, &one), CLAIM_WON);
    assert_true(one.item.fence > before.item.fence);
    assert_int_equal(contender_renew(*state, &before, NULL), RENEW_LOST);
    assert_int_equal(contender_renew(*state, &one, NULL), RENEW_RENEWED);
    size_t count;
    struct run_row run = store_fixture_last_run(*state, key, &count);
    assert_int_equal(count, 1);
    assert_int_equal(run.fence, one.item.fence);
    assert_int_equal(run.outcome, OUTCOME_NONE);
}

static void running__late_duplicate_of_its_claim__changes_nothing(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender one = contender_winner(*state, key);
    struct contender duplicate = one;
    assert_int_not_equal(CLAIM(*state, &duplicate), CLAIM_WON);
    assert_int_equal(contender_renew(*state, &one, NULL), RENEW_RENEWED);
    assert_int_equal(store_fixture_held(*state, key).fence, one.item.fence);
}

static void released__late_duplicate_of_its_claim__leaves_the_key_free(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender one = contender_winner(*state, key);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    struct contender duplicate = one;
    assert_int_not_equal(CLAIM(*state, &duplicate), CLAIM_WON);
    duplicate = one;
    assert_int_not_equal(contender_claim_again(*state, &duplicate), CLAIM_WON);
    contender_winner(*state, key);
}

static void released_by_the_next__late_duplicate_of_the_first__is_not_won(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender one = contender_winner(*state, key);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    struct contender two = contender_winner(*state, key);
    contender_release(*state, &two, OUTCOME_SUCCEEDED, 0);
    struct contender duplicate = one;
    assert_int_not_equal(CLAIM(*state, &duplicate), CLAIM_WON);
    assert_int_equal(store_fixture_held(*state, key).state, LEASE_RELEASED);
}

static void expired__late_duplicate_of_its_claim__is_not_won(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.ttl_ms = MOMENT_MS;
    assert_int_equal(CLAIM(*state, &one), CLAIM_WON);
    store_fixture_wait_ms(*state, MOMENT_MS + 20);
    struct contender duplicate = one;
    assert_int_not_equal(CLAIM(*state, &duplicate), CLAIM_WON);
    assert_int_equal(contender_claim_again(*state, &one), CLAIM_WON);
}

static void revoked__claim_with_next_attempt__does_not_undo_the_persons_word(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    store_fixture_revoke(*state, one.item.key, true);
    assert_int_not_equal(contender_claim_again(*state, &one), CLAIM_WON);
}

/* ---- succession --------------------------------------------------------------------------- */

static void released__claim_by_another__wins_with_greater_fence(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender one = contender_winner(*state, key);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    struct contender two = contender_winner(*state, key);
    assert_true(two.item.fence > one.item.fence);
    assert_string_equal(two.item.abandoned, "");
}

static void expired__claim_by_another__wins_and_closes_the_abandoned_run_once(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender one = contender(key);
    one.item.ttl_ms = MOMENT_MS;
    assert_int_equal(CLAIM(*state, &one), CLAIM_WON);
    struct contender two = contender(key);
    assert_int_equal(CLAIM(*state, &two), CLAIM_HELD);
    assert_in_range(two.item.wait_ms, 1, MOMENT_MS);
    store_fixture_wait_ms(*state, MOMENT_MS + 20);
    assert_int_equal(CLAIM(*state, &two), CLAIM_WON);
    assert_true(two.item.fence > one.item.fence);
    assert_string_equal(two.item.abandoned, one.run_id);
    assert_string_equal(two.item.other, one.holder);
    assert_int_equal(two.item.abandoned_fence, one.item.fence);

    contender_release(*state, &two, OUTCOME_SUCCEEDED, 0);
    struct contender three = contender_winner(*state, key);
    assert_string_equal(three.item.abandoned, "");
}

static void abandoned_run_told__reply_lost__is_told_again(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender one = contender_winner(*state, key);
    contender_free(*state, &one);
    struct contender two = contender_winner(*state, key);
    assert_string_equal(two.item.abandoned, one.run_id);
    assert_int_equal(contender_claim_again(*state, &two), CLAIM_WON);
    assert_string_equal(two.item.abandoned, one.run_id);
    assert_int_equal(two.item.abandoned_fence, one.item.fence);
}

static void abandoned_run__history__says_so(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender one = contender_winner(*state, key);
    contender_free(*state, &one);
    struct contender two = contender_winner(*state, key);
    contender_undo(*state, &two);
    size_t count;
    struct run_row run = store_fixture_last_run(*state, key, &count);
    assert_int_equal(count, 1);
    assert_string_equal(run.run_id, one.run_id);
    assert_int_equal(run.outcome, OUTCOME_ABANDONED);
    assert_true(run.finished_us >= run.started_us);
}

static void limit_has_passed__claim_arrives__does_not_win(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.limit_ms = -1000;
    assert_int_equal(CLAIM(*state, &one), CLAIM_RACED);
    bool exists;
    store_fixture_lease(*state, one.item.key, &exists);
    assert_false(exists);
}

/* ---- once, hold --------------------------------------------------------------------------- */

static enum claim_verdict claim_once(struct store_fixture *fixture, struct contender *one)
{
    one->item.is_once = true;
    return CLAIM(fixture, one);
}

static void once_failed__claim__wins_again(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    assert_int_equal(claim_once(*state, &one), CLAIM_WON);
    contender_release(*state, &one, OUTCOME_FAILED, 1);
    struct contender two = contender(one.item.key);
    assert_int_equal(claim_once(*state, &two), CLAIM_WON);
}

static void once_succeeded__claim__is_done(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    assert_int_equal(claim_once(*state, &one), CLAIM_WON);
    struct contender two = contender(one.item.key);
    assert_int_equal(claim_once(*state, &two), CLAIM_HELD);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(claim_once(*state, &two), CLAIM_DONE);
    struct contender three = contender(one.item.key);
    assert_int_equal(CLAIM(*state, &three), CLAIM_WON); /* who did not ask for once */
}

static void hold_at_least__released_early__is_held_until_then(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.hold_ms = 2 * MOMENT_MS;
    assert_int_equal(CLAIM(*state, &one), CLAIM_WON);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    struct contender two = contender(one.item.key);
    assert_int_equal(CLAIM(*state, &two), CLAIM_HELD);
    assert_in_range(two.item.wait_ms, 1, 2 * MOMENT_MS);
    assert_true(two.item.is_on_hold);
    assert_string_equal(two.item.other, one.holder);
    struct lease_row row = store_fixture_held(*state, one.item.key);
    assert_int_equal(row.state, LEASE_ON_HOLD);
    assert_in_range(row.remaining_ms, 1, 2 * MOMENT_MS);
    store_fixture_wait_ms(*state, two.item.wait_ms + 20);
    assert_int_equal(CLAIM(*state, &two), CLAIM_WON);
}

/* ---- keys --------------------------------------------------------------------------------- */

static char long_key[1025];
static const char *const strange_keys[] = {
    "a'b\"c",
    "100% %s %n",
    "back\\slash {curly,} \"{}\"",
    "na\xc3\xafve \xf0\x9f\x90\xa2",
    "nai\xcc\x88ve \xf0\x9f\x90\xa2",
    "Case",
    "case",
    "case ",
    " case",
    "NULL",
    "a\tb",
    "$1 ?1 :x",
    "'; DROP TABLE leases; --",
    "\x7f",
    long_key,
};

static void strange_keys__claim_each__are_as_many_keys(void **state)
{
    enum {
        COUNT = CASE_COUNT(strange_keys)
    };
    static struct contender all[COUNT];
    memset(long_key, 'k', (size_t)store_fixture_longest_key(*state));
    for (size_t i = 0; i < COUNT; i++) {
        all[i] = contender(strange_keys[i]);
        assert_int_equal(CLAIM(*state, &all[i]), CLAIM_WON);
    }
    for (size_t i = 0; i < COUNT; i++) {
        struct contender other = contender(strange_keys[i]);
        assert_int_equal(CLAIM(*state, &other), CLAIM_HELD);
        assert_string_equal(other.item.other, all[i].holder);
        assert_int_equal(contender_renew(*state, &all[i], NULL), RENEW_RENEWED);
        assert_string_equal(store_fixture_held(*state, strange_keys[i]).key, strange_keys[i]);
        contender_release(*state, &all[i], OUTCOME_SUCCEEDED, 0);
    }
}

/* ---- batches ------------------------------------------------------------------------------ */

#define BATCH 200
static struct contender batch[2][BATCH];
static struct claim_item batch_items[BATCH];

static void fill_batch(struct contender *contenders, char keys[][16])
{
    for (int i = 0; i < BATCH; i++) {
        snprintf(keys[i], 16, "batch %d", i * 37 % BATCH); /* not in order */
        contenders[i] = contender(keys[i]);
        batch_items[i] = contenders[i].item;
        batch_items[i].holder = contenders[i].holder;
        batch_items[i].run_id = contenders[i].run_id;
    }
}

static void two_hundred_keys__claimed_at_once__have_a_verdict_each_in_order(void **state)
{
    static char keys[BATCH][16];
    fill_batch(batch[0], keys);
    contender_claim_all(*state, batch_items, BATCH);
    for (int i = 0; i < BATCH; i++) {
        assert_int_equal(batch_items[i].verdict, CLAIM_WON);
        batch[0][i].item.fence = batch_items[i].fence;
    }
    contender_release(*state, &batch[0][7], OUTCOME_SUCCEEDED, 0);
    fill_batch(batch[1], keys);
    contender_claim_all(*state, batch_items, BATCH);
    for (int i = 0; i < BATCH; i++) {
        assert_string_equal(batch_items[i].key, keys[i]);
        assert_int_equal(batch_items[i].verdict, i == 7 ? CLAIM_WON : CLAIM_HELD);
        if (i != 7)
            assert_string_equal(batch_items[i].other, batch[0][i].holder);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(free_key__claim__is_won_and_shown),
        cmocka_unit_test(held_key__claim_by_another__is_told_by_whom_and_how_long),
        cmocka_unit_test(held_key__many_lose__nothing_changes),
        cmocka_unit_test(reply_lost__claim_with_next_attempt__wins_with_greater_fence),
        cmocka_unit_test(running__late_duplicate_of_its_claim__changes_nothing),
        cmocka_unit_test(released__late_duplicate_of_its_claim__leaves_the_key_free),
        cmocka_unit_test(released_by_the_next__late_duplicate_of_the_first__is_not_won),
        cmocka_unit_test(expired__late_duplicate_of_its_claim__is_not_won),
        cmocka_unit_test(revoked__claim_with_next_attempt__does_not_undo_the_persons_word),
        cmocka_unit_test(released__claim_by_another__wins_with_greater_fence),
        cmocka_unit_test(expired__claim_by_another__wins_and_closes_the_abandoned_run_once),
        cmocka_unit_test(abandoned_run_told__reply_lost__is_told_again),
        cmocka_unit_test(abandoned_run__history__says_so),
        cmocka_unit_test(limit_has_passed__claim_arrives__does_not_win),
        cmocka_unit_test(once_failed__claim__wins_again),
        cmocka_unit_test(once_succeeded__claim__is_done),
        cmocka_unit_test(hold_at_least__released_early__is_held_until_then),
        cmocka_unit_test(strange_keys__claim_each__are_as_many_keys),
        cmocka_unit_test(two_hundred_keys__claimed_at_once__have_a_verdict_each_in_order),
    };
    return store_fixture_run("claim", cases, CASE_COUNT(cases));
}
