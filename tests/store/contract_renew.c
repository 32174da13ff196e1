/* SPDX-License-Identifier: ISC */
#include "store_fixture.h"

#include <stdio.h>
#include <string.h>

static enum lost_reason reason_of(struct store_fixture *fixture, const struct contender *holder)
{
    struct renew_item item;
    assert_int_equal(contender_renew(fixture, holder, &item), RENEW_LOST);
    return item.reason;
}

static struct contender short_winner(struct store_fixture *fixture)
{
    struct contender one = contender(store_fixture_key(fixture));
    one.item.ttl_ms = MOMENT_MS;
    assert_int_equal(contender_claim(fixture, &one), CLAIM_WON);
    return one;
}

static void held__renewed_again_and_again__outlives_its_first_ttl(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.ttl_ms = 2 * MOMENT_MS;
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    for (int i = 0; i < 5; i++) {
        store_fixture_wait_ms(*state, MOMENT_MS / 2);
        assert_int_equal(contender_renew(*state, &one, NULL), RENEW_RENEWED);
    }
    struct contender two = contender(one.item.key);
    assert_int_equal(contender_claim(*state, &two), CLAIM_HELD);
    struct lease_row row = store_fixture_held(*state, one.item.key);
    assert_int_equal(row.fence, one.item.fence);
    assert_in_range(row.remaining_ms, 1, 2 * MOMENT_MS);
}

static void expired__renewal__is_lost_and_does_not_revive(void **state)
{
    struct contender one = short_winner(*state);
    store_fixture_wait_ms(*state, MOMENT_MS + 20);
    assert_int_equal(reason_of(*state, &one), LOST_EXPIRED);
    assert_int_equal(store_fixture_held(*state, one.item.key).state, LEASE_EXPIRED);
    contender_winner(*state, one.item.key);
}

static void taken_over__renewal__is_lost_to_the_new_holder(void **state)
{
    struct contender one = short_winner(*state);
    store_fixture_wait_ms(*state, MOMENT_MS + 20);
    struct contender two = contender_winner(*state, one.item.key);
    struct renew_item item;
    assert_int_equal(contender_renew(*state, &one, &item), RENEW_LOST);
    assert_int_equal(item.reason, LOST_TAKEN);
    assert_string_equal(item.other, two.holder);
    contender_release(*state, &two, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(contender_renew(*state, &one, &item), RENEW_LOST);
    assert_int_equal(item.reason, LOST_TAKEN);
    assert_string_equal(item.other, "");
}

static void released__late_renewal__is_lost_and_does_not_revive(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(reason_of(*state, &one), LOST_GONE);
    contender_winner(*state, one.item.key);
}

static void no_such_key__renewal__is_lost_and_creates_nothing(void **state)
{
    struct contender nobody = contender(store_fixture_key(*state));
    nobody.item.fence = 1;
    assert_int_equal(reason_of(*state, &nobody), LOST_GONE);
    bool exists;
    store_fixture_lease(*state, nobody.item.key, &exists);
    assert_false(exists);
}

static void revoked__renewal__is_lost_and_says_why(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    store_fixture_revoke(*state, one.item.key, true);
    assert_int_equal(reason_of(*state, &one), LOST_REVOKED);
}

static void wrong_fence_or_holder__renewal__is_lost(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    struct contender older = one;
    older.item.fence--;
    assert_int_equal(reason_of(*state, &older), LOST_TAKEN);
    struct contender newer = one;
    newer.item.fence += OTHER_FENCE;
    assert_int_equal(reason_of(*state, &newer), LOST_TAKEN);
    struct contender other = contender(one.item.key);
    other.item.fence = one.item.fence;
    assert_int_equal(reason_of(*state, &other), LOST_TAKEN);
    assert_int_equal(contender_renew(*state, &one, NULL), RENEW_RENEWED);
}

static void renewal_with_another_ttl__is_renewed__for_that_long(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    one.item.ttl_ms = FOREVER_MS * 2;
    assert_int_equal(contender_renew(*state, &one, NULL), RENEW_RENEWED);
    assert_true(store_fixture_held(*state, one.item.key).remaining_ms > FOREVER_MS);
}

/* ---- batches ------------------------------------------------------------------------------ */

static struct renew_item item_of(const struct contender *one)
{
    return (struct renew_item){.key = one->item.key,
                               .holder = one->holder,
                               .fence = one->item.fence,
                               .ttl_ms = FOREVER_MS};
}

static void renew_all(struct store_fixture *fixture, struct renew_item *items, size_t count)
{
    struct store_request request = {.kind = STORE_RENEW,
                                    .u.renew = {.items = items, .count = count}};
    assert_int_equal(store_fixture_ask(fixture, &request), STORE_ANSWERED);
}

static void mixed_batch__renewed_at_once__has_a_verdict_each_in_order(void **state)
{
    struct store_fixture *fixture = *state;
    struct contender expired = short_winner(fixture);
    struct contender taken = short_winner(fixture);
    store_fixture_wait_ms(fixture, MOMENT_MS + 20);
    struct contender taker = contender_winner(fixture, taken.item.key);
    struct contender first = contender_winner(fixture, store_fixture_key(fixture));
    struct contender revoked = contender_winner(fixture, store_fixture_key(fixture));
    struct contender released = contender_winner(fixture, store_fixture_key(fixture));
    struct contender missing = contender(store_fixture_key(fixture));
    struct contender last = contender_winner(fixture, store_fixture_key(fixture));
    store_fixture_revoke(fixture, revoked.item.key, true);
    contender_release(fixture, &released, OUTCOME_SUCCEEDED, 0);

    struct renew_item items[] = {item_of(&last),    item_of(&taken),    item_of(&revoked),
                                 item_of(&expired), item_of(&released), item_of(&missing),
                                 item_of(&first)};
    renew_all(fixture, items, CASE_COUNT(items));
    assert_int_equal(items[0].verdict, RENEW_RENEWED);
    static const enum lost_reason reasons[] = {LOST_TAKEN, LOST_REVOKED, LOST_EXPIRED, LOST_GONE,
                                               LOST_GONE};
    for (size_t i = 0; i < CASE_COUNT(reasons); i++) {
        assert_int_equal(items[i + 1].verdict, RENEW_LOST);
        assert_int_equal(items[i + 1].reason, reasons[i]);
    }
    assert_int_equal(items[6].verdict, RENEW_RENEWED);
    assert_string_equal(items[1].other, taker.holder);
}

static void two_hundred_keys__renewed_at_once__are_all_renewed(void **state)
{
    enum {
        COUNT = 200
    };
    static char keys[COUNT][24];
    static struct contender all[COUNT];
    static struct claim_item claims[COUNT];
    static struct renew_item renewals[COUNT];
    for (int i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof keys[i], "renewed %d", i * 37 % COUNT);
        all[i] = contender(keys[i]);
        claims[i] = all[i].item;
        claims[i].holder = all[i].holder;
        claims[i].run_id = all[i].run_id;
    }
    contender_claim_all(*state, claims, COUNT);
    for (int i = 0; i < COUNT; i++) {
        all[i].item.fence = claims[i].fence;
        renewals[i] = item_of(&all[i]);
    }
    renew_all(*state, renewals, COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(renewals[i].verdict, RENEW_RENEWED);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(held__renewed_again_and_again__outlives_its_first_ttl),
        cmocka_unit_test(expired__renewal__is_lost_and_does_not_revive),
        cmocka_unit_test(taken_over__renewal__is_lost_to_the_new_holder),
        cmocka_unit_test(released__late_renewal__is_lost_and_does_not_revive),
        cmocka_unit_test(no_such_key__renewal__is_lost_and_creates_nothing),
        cmocka_unit_test(revoked__renewal__is_lost_and_says_why),
        cmocka_unit_test(wrong_fence_or_holder__renewal__is_lost),
        cmocka_unit_test(renewal_with_another_ttl__is_renewed__for_that_long),
        cmocka_unit_test(mixed_batch__renewed_at_once__has_a_verdict_each_in_order),
        cmocka_unit_test(two_hundred_keys__renewed_at_once__are_all_renewed),
    };
    return store_fixture_run("renew", cases, CASE_COUNT(cases));
}
