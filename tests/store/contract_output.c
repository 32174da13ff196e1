/* SPDX-License-Identifier: ISC */
/* The end of what a command wrote, kept with its run. */
#include "base/mem.h"
#include "store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1048576 /* of the setting output-tail */

/* Every byte, what arrays and strings quote, and what is no UTF-8. */
static const char *bytes_of(size_t count)
{
    static char bytes[MOST];
    for (size_t i = 0; i < count; i++)
        bytes[i] = i % 300 < 256 ? (char)(255 - i % 300) : "{\",'\\}NULL"[i % 10];
    return bytes;
}

static struct release_item ending(const struct contender *one, enum run_outcome outcome,
                                  const char *bytes, size_t count)
{
    return (struct release_item){.key = one->item.key,
                                 .holder = one->holder,
                                 .fence = one->item.fence,
                                 .run_id = one->run_id,
                                 .outcome = outcome,
                                 .status = 3,
                                 .output_tail = bytes,
                                 .output_tail_length = count};
}

static void release_all(struct store_fixture *fixture, struct release_item *items, size_t count)
{
    struct store_request request = {.kind = STORE_RELEASE,
                                    .u.release = {.items = items, .count = count}};
    assert_int_equal(store_fixture_ask(fixture, &request), STORE_ANSWERED);
}

static struct release_item release_with(struct store_fixture *fixture, const struct contender *one,
                                        enum run_outcome outcome, const char *bytes, size_t count)
{
    struct release_item item = ending(one, outcome, bytes, count);
    release_all(fixture, &item, 1);
    return item;
}

static struct run_row run_of(struct store_fixture *fixture, const struct contender *one)
{
    size_t count;
    struct run_row run = store_fixture_last_run(fixture, one->run_id, &count);
    assert_int_equal(count, 1);
    return run;
}

static void assert_output(struct store_fixture *fixture, const struct contender *one,
                          const char *bytes, size_t count)
{
    struct run_row run = run_of(fixture, one);
    assert_non_null(run.output_tail);
    assert_int_equal(run.output_tail_length, count);
    assert_memory_equal(run.output_tail, bytes, count);
}

static void assert_no_output(struct store_fixture *fixture, const struct contender *one)
{
    struct run_row run = run_of(fixture, one);
    assert_null(run.output_tail);
    assert_int_equal(run.output_tail_length, 0);
}

/* ---- one run ------------------------------------------------------------------------------ */

static void bytes_of_every_kind_and_length__released_with_them__are_read_back(void **state)
{
    static const size_t lengths[] = {1, 300, 2100, 65537, MOST};
    for (size_t i = 0; i < CASE_COUNT(lengths); i++) {
        struct contender one = contender_winner(*state, store_fixture_key(*state));
        struct release_item item =
            release_with(*state, &one, OUTCOME_FAILED, bytes_of(lengths[i]), lengths[i]);
        assert_int_equal(item.verdict, RELEASE_RELEASED);
        assert_true(item.is_recorded);
        assert_output(*state, &one, bytes_of(lengths[i]), lengths[i]);
        assert_int_equal(run_of(*state, &one).outcome, OUTCOME_FAILED);
        assert_int_equal(run_of(*state, &one).status, 3);
    }
}

static void released_without__history__has_none(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    assert_no_output(*state, &one);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    assert_no_output(*state, &one);
}

static void output_not_wanted__history__leaves_it_out(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    release_with(*state, &one, OUTCOME_SUCCEEDED, "x", 1);
    struct store_request request = {.kind = STORE_HISTORY, .u.runs = {.key = one.item.key}};
    assert_int_equal(store_fixture_ask(*state, &request), STORE_ANSWERED);
    assert_int_equal(request.u.runs.count, 1);
    assert_null(request.u.runs.rows[0].output_tail);
    store_request_clear(&request);
}

static void other_runs_of_the_key__history_of_a_run_id__is_that_run_alone(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender one = contender_winner(*state, key);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    struct contender two = contender_winner(*state, key);
    contender_release(*state, &two, OUTCOME_SUCCEEDED, 0);
    assert_string_equal(run_of(*state, &one).run_id, one.run_id);
    assert_string_equal(run_of(*state, &two).run_id, two.run_id);
}

static void outcome_written__other_output_comes__the_first_stays(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    release_with(*state, &one, OUTCOME_FAILED, "first", 5);
    assert_true(release_with(*state, &one, OUTCOME_FAILED, "second", 6).is_recorded);
    release_with(*state, &one, OUTCOME_SUCCEEDED, "third", 5);
    contender_release(*state, &one, OUTCOME_FAILED, 3); /* as a repeat that leaves it out */
    assert_output(*state, &one, "first", 5);
}

static void written_without__repeat_brings_output__has_none(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    contender_release(*state, &one, OUTCOME_FAILED, 3);
    release_with(*state, &one, OUTCOME_FAILED, "late", 4);
    assert_no_output(*state, &one);
}

static void mandate_revoked__released_as_lost__its_output_is_kept(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    store_fixture_revoke(*state, one.item.key, true);
    assert_int_equal(contender_renew(*state, &one, NULL), RENEW_LOST);
    assert_true(release_with(*state, &one, OUTCOME_LOST, "lost\0", 5).is_recorded);
    assert_output(*state, &one, "lost\0", 5);
}

/* ---- several ------------------------------------------------------------------------------ */

static void several_runs_one_without__released_at_once__each_has_its_own(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    struct contender two = contender_winner(*state, store_fixture_key(*state));
    struct contender three = contender_winner(*state, store_fixture_key(*state));
    struct release_item items[] = {
        ending(&three, OUTCOME_FAILED, bytes_of(700), 700),
        ending(&one, OUTCOME_SUCCEEDED, NULL, 0),
        ending(&two, OUTCOME_SUCCEEDED, "NULL", 4),
    };
    release_all(*state, items, CASE_COUNT(items));
    for (size_t i = 0; i < CASE_COUNT(items); i++)
        assert_true(items[i].is_recorded);
    assert_no_output(*state, &one);
    assert_output(*state, &two, "NULL", 4);
    assert_output(*state, &three, bytes_of(700), 700);
}

static void one_of_several_not_ours__released_at_once__the_others_have_theirs(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    struct contender nobody = contender(store_fixture_key(*state));
    struct contender two = contender_winner(*state, store_fixture_key(*state));
    struct release_item items[] = {
        ending(&two, OUTCOME_FAILED, "of two", 6),
        ending(&nobody, OUTCOME_FAILED, "of nobody", 9),
        ending(&one, OUTCOME_NONE, "not ended", 9),
    };
    release_all(*state, items, CASE_COUNT(items));
    assert_int_equal(items[1].verdict, RELEASE_NOT_OURS);
    assert_output(*state, &two, "of two", 6);
    assert_no_output(*state, &one);
}

static int called;

static void on_done(struct store_request *request)
{
    assert_int_equal(request->outcome, STORE_ANSWERED);
    called++;
}

/* More bytes than go together. */
static void many_ends_with_output__submitted_at_once__each_has_its_own(void **state)
{
    enum {
        MANY = 60,
        EACH = 10000
    };
    struct store_fixture *fixture = *state;
    static struct contender all[MANY];
    static struct release_item items[MANY];
    static struct store_request requests[MANY];
    static char bytes[MANY][EACH];
    for (int i = 0; i < MANY; i++) {
        all[i] = contender_winner(fixture, store_fixture_key(fixture));
        memset(bytes[i], i, EACH);
        items[i] = ending(&all[i], OUTCOME_SUCCEEDED, bytes[i], EACH);
    }
    called = 0;
    for (int i = 0; i < MANY; i++) {
        requests[i] = (struct store_request){
            .kind = STORE_RELEASE, .done = on_done, .u.release = {.items = &items[i], .count = 1}};
        store_fixture_submit(fixture, &requests[i]);
    }
    while (called < MANY)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    for (int i = 0; i < MANY; i++) {
        assert_true(items[i].is_recorded);
        assert_output(fixture, &all[i], bytes[i], EACH);
    }
}

/* Statements that come again are kept ready, those with output and those without. */
static void batches_with_output_and_without__in_turn__each_has_its_own(void **state)
{
    for (int round = 0; round < 12; round++) {
        struct contender one = contender_winner(*state, store_fixture_key(*state));
        struct contender two = contender_winner(*state, store_fixture_key(*state));
        const char *bytes = bytes_of(400);
        bool has_output = round % 2 == 0;
        struct release_item items[] = {
            ending(&one, OUTCOME_SUCCEEDED, NULL, 0),
            ending(&two, OUTCOME_SUCCEEDED, has_output ? bytes + round : NULL,
                   has_output ? 300 : 0),
        };
        release_all(*state, items, CASE_COUNT(items));
        assert_true(items[0].is_recorded && items[1].is_recorded);
        assert_no_output(*state, &one);
        if (has_output)
            assert_output(*state, &two, bytes + round, 300);
        else
            assert_no_output(*state, &two);
    }
}

/* ---- a run that is taken over ------------------------------------------------------------- */

static struct contender stopped_with_output(struct store_fixture *fixture)
{
    struct contender one = contender(store_fixture_key(fixture));
    one.item.slot_us = now_wall_us();
    one.item.is_rerun = true;
    assert_int_equal(contender_claim(fixture, &one), CLAIM_WON);
    assert_true(release_with(fixture, &one, OUTCOME_STOPPED, "begun", 5).is_recorded);
    assert_output(fixture, &one, "begun", 5);
    return one;
}

static struct contender taker_of(struct store_fixture *fixture, const struct contender *one)
{
    struct contender two = contender(one->item.key);
    snprintf(two.run_id, sizeof two.run_id, "%s", one->run_id);
    two.item.slot_us = one->item.slot_us;
    two.item.is_rerun = true;
    two.item.interrupted_fence = one->item.fence;
    two.item.max_starts = 3;
    assert_int_equal(contender_claim(fixture, &two), CLAIM_WON);
    return two;
}

static void run_taken_over__its_output__is_that_of_the_last_start(void **state)
{
    struct contender one = stopped_with_output(*state);
    struct contender two = taker_of(*state, &one);
    assert_no_output(*state, &two);
    assert_true(release_with(*state, &two, OUTCOME_SUCCEEDED, "done", 4).is_recorded);
    assert_output(*state, &two, "done", 4);
}

static void run_taken_over_and_ended_without__its_output__is_none(void **state)
{
    struct contender one = stopped_with_output(*state);
    struct contender two = taker_of(*state, &one);
    contender_release(*state, &two, OUTCOME_SUCCEEDED, 0);
    assert_no_output(*state, &two);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(bytes_of_every_kind_and_length__released_with_them__are_read_back),
        cmocka_unit_test(released_without__history__has_none),
        cmocka_unit_test(output_not_wanted__history__leaves_it_out),
        cmocka_unit_test(other_runs_of_the_key__history_of_a_run_id__is_that_run_alone),
        cmocka_unit_test(outcome_written__other_output_comes__the_first_stays),
        cmocka_unit_test(written_without__repeat_brings_output__has_none),
        cmocka_unit_test(mandate_revoked__released_as_lost__its_output_is_kept),
        cmocka_unit_test(several_runs_one_without__released_at_once__each_has_its_own),
        cmocka_unit_test(one_of_several_not_ours__released_at_once__the_others_have_theirs),
        cmocka_unit_test(many_ends_with_output__submitted_at_once__each_has_its_own),
        cmocka_unit_test(batches_with_output_and_without__in_turn__each_has_its_own),
        cmocka_unit_test(run_taken_over__its_output__is_that_of_the_last_start),
        cmocka_unit_test(run_taken_over_and_ended_without__its_output__is_none),
    };
    return store_fixture_run("output", cases, CASE_COUNT(cases));
}
