/* SPDX-License-Identifier: ISC */
/* Many requests at once, as a scheduler makes them: each is answered for itself. */
#include "store_fixture.h"

#include <stdio.h>

#define MANY 1000

static struct crowd {
    char keys[MANY][48];
    struct contender each[MANY];
    struct store_request requests[MANY];
    struct renew_item renewals[MANY];
    struct release_item releases[MANY];
    int statuses[MANY];
    int called;
} crowd;

static void on_done(struct store_request *request)
{
    crowd.called++;
}

static void init_contender(int i)
{
    crowd.each[i] = contender(crowd.keys[i]);
    crowd.each[i].item.holder = crowd.each[i].holder;
    crowd.each[i].item.run_id = crowd.each[i].run_id;
}

static void init_crowd(struct store_fixture *fixture)
{
    const char *base = store_fixture_key(fixture);
    for (int i = 0; i < MANY; i++) {
        snprintf(crowd.keys[i], sizeof crowd.keys[i], "%.30s/%d", base, i);
        init_contender(i);
        crowd.statuses[i] = i % 256;
    }
}

/* Submits every one's request at once and waits for all answers. */
static void ask_all(struct store_fixture *fixture, enum store_kind kind)
{
    crowd.called = 0;
    for (int i = 0; i < MANY; i++) {
        struct store_request *request = &crowd.requests[i];
        const struct contender *one = &crowd.each[i];
        *request = (struct store_request){.kind = kind, .done = on_done};
        if (kind == STORE_CLAIM) {
            request->u.claim.items = &crowd.each[i].item;
            request->u.claim.count = 1;
        } else if (kind == STORE_RENEW) {
            crowd.renewals[i] = (struct renew_item){
                .key = one->item.key, .holder = one->holder, .fence = one->item.fence};
            crowd.renewals[i].ttl_ms = FOREVER_MS;
            request->u.renew.items = &crowd.renewals[i];
            request->u.renew.count = 1;
        } else {
            crowd.releases[i] = (struct release_item){.key = one->item.key,
                                                      .holder = one->holder,
                                                      .fence = one->item.fence,
                                                      .run_id = one->run_id,
                                                      .outcome = OUTCOME_FAILED,
                                                      .status = crowd.statuses[i]};
            request->u.release.items = &crowd.releases[i];
            request->u.release.count = 1;
        }
        store_fixture_submit(fixture, request);
    }
    while (crowd.called < MANY)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    for (int i = 0; i < MANY; i++)
        if (crowd.requests[i].outcome != STORE_ANSWERED)
            fail_msg("%s", crowd.requests[i].error.text);
}

static void thousand_keys__claimed_renewed_released_at_once__each_has_its_own_answer(void **state)
{
    init_crowd(*state);
    struct contender held = contender_winner(*state, crowd.keys[500]);
    ask_all(*state, STORE_CLAIM);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(crowd.each[i].item.verdict, i == 500 ? CLAIM_HELD : CLAIM_WON);
        for (int before = 0; before < i && i != 500; before += 97)
            assert_int_not_equal(crowd.each[i].item.fence, crowd.each[before].item.fence);
    }
    assert_string_equal(crowd.each[500].item.other, held.holder);
    assert_string_equal(store_fixture_held(*state, crowd.keys[1]).holder, crowd.each[1].holder);

    crowd.each[2].item.fence++;
    ask_all(*state, STORE_RENEW);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(crowd.renewals[i].verdict,
                         i == 2 || i == 500 ? RENEW_LOST : RENEW_RENEWED);

    crowd.each[2].item.fence--;
    ask_all(*state, STORE_RELEASE);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(crowd.releases[i].verdict, i == 500 ? RELEASE_NOT_OURS : RELEASE_RELEASED);
        assert_int_equal(crowd.releases[i].is_recorded, i != 500);
    }
    size_t count;
    assert_int_equal(store_fixture_last_run(*state, crowd.keys[77], &count).status, 77);
    assert_int_equal(contender_renew(*state, &held, NULL), RENEW_RENEWED);
}

static void thousand_keys__every_third_with_a_slot_and_a_status__each_keeps_its_own(void **state)
{
    int64_t slot_us = now_wall_us();
    init_crowd(*state);
    for (int i = 0; i < MANY; i++) {
        crowd.each[i].item.slot_us = i % 3 == 1 ? slot_us - i : NO_INSTANT;
        crowd.statuses[i] = i % 3 == 1 ? i % 256 : -1;
    }
    ask_all(*state, STORE_CLAIM);
    ask_all(*state, STORE_RELEASE);
    for (int i = 0; i < MANY; i += 89) {
        size_t count;
        struct run_row run = store_fixture_last_run(*state, crowd.keys[i], &count);
        assert_int_equal(count, 1);
        assert_true(run.slot_us == (i % 3 == 1 ? slot_us - i : NO_INSTANT));
        assert_int_equal(run.status, i % 3 == 1 ? i % 256 : -1);
    }
}

static void thousand_keys__every_third_with_a_fingerprint__each_is_told_its_own(void **state)
{
    static char fingerprints[MANY][16];
    init_crowd(*state);
    for (int i = 0; i < MANY; i++) {
        snprintf(fingerprints[i], sizeof fingerprints[i], "of %d", i);
        crowd.each[i].item.fingerprint = i % 3 == 1 ? fingerprints[i] : NULL;
    }
    ask_all(*state, STORE_CLAIM);
    ask_all(*state, STORE_RELEASE);
    for (int i = 0; i < MANY; i++) {
        init_contender(i);
        crowd.each[i].item.fingerprint = "next";
    }
    ask_all(*state, STORE_CLAIM);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(crowd.each[i].item.verdict, CLAIM_WON);
        assert_string_equal(crowd.each[i].item.previous_fingerprint,
                            i % 3 == 1 ? fingerprints[i] : "");
    }
}

static void thousand_slots__undone_at_once__are_open_again(void **state)
{
    init_crowd(*state);
    int64_t slot_us = now_wall_us();
    for (int i = 0; i < MANY; i++)
        crowd.each[i].item.slot_us = slot_us;
    ask_all(*state, STORE_CLAIM);
    ask_all(*state, STORE_UNDO);
    for (int i = 0; i < MANY; i += 111) {
        struct contender next = contender(crowd.keys[i]);
        next.item.slot_us = slot_us;
        assert_int_equal(contender_claim(*state, &next), CLAIM_WON);
    }
}

static void two_claim_a_key_at_once__one_wins_and_the_other_is_held(void **state)
{
    init_crowd(*state);
    for (int i = 0; i < MANY; i++)
        crowd.each[i].item.key = crowd.keys[i / 2];
    ask_all(*state, STORE_CLAIM);
    for (int i = 0; i < MANY; i += 2) {
        assert_int_equal(crowd.each[i].item.verdict, CLAIM_WON); /* in order of submission */
        assert_int_equal(crowd.each[i + 1].item.verdict, CLAIM_HELD);
        assert_string_equal(crowd.each[i + 1].item.other, crowd.each[i].holder);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(thousand_keys__claimed_renewed_released_at_once__each_has_its_own_answer),
        cmocka_unit_test(thousand_keys__every_third_with_a_slot_and_a_status__each_keeps_its_own),
        cmocka_unit_test(thousand_keys__every_third_with_a_fingerprint__each_is_told_its_own),
        cmocka_unit_test(thousand_slots__undone_at_once__are_open_again),
        cmocka_unit_test(two_claim_a_key_at_once__one_wins_and_the_other_is_held),
    };
    return store_fixture_run("batches", cases, CASE_COUNT(cases));
}
