/* SPDX-License-Identifier: ISC */
#include "store_fixture.h"

#include <string.h>

#define DAY_MS INT64_C(86400000)

static const struct purge keep_all = {
    .lease_retention_ms = DAY_MS, .slot_retention_ms = DAY_MS, .run_retention_ms = DAY_MS};

/* The row of another program's table stays, without what our own knew of it. */
static bool has_lease(struct store_fixture *fixture, const char *key)
{
    bool exists;
    struct lease_row row = store_fixture_lease(fixture, key, &exists);
    return exists && row.fence != FENCE_ABSENT;
}

static size_t count_runs(struct store_fixture *fixture, const char *key)
{
    size_t count;
    store_fixture_last_run(fixture, key, &count);
    return count;
}

/* What ended just now must lie in the past of a purge that keeps nothing. */
static struct purge purge_now(struct store_fixture *fixture, struct purge purge)
{
    store_fixture_wait_ms(fixture, 20);
    return store_fixture_purge(fixture, purge);
}

/* ---- status ------------------------------------------------------------------------------- */

static void several_keys__status_of_all__is_sorted_by_bytes(void **state)
{
    static const char *const keys[] = {"list B", "list a", "list \xc3\xa9", "list A"};
    for (size_t i = 0; i < CASE_COUNT(keys); i++)
        contender_winner(*state, keys[i]);
    struct store_request request = {.kind = STORE_STATUS};
    assert_int_equal(store_fixture_ask(*state, &request), STORE_ANSWERED);
    size_t found = 0;
    for (size_t i = 0; i < request.u.leases.count; i++) {
        const struct lease_row *rows = request.u.leases.rows;
        if (i > 0)
            assert_true(strcmp(rows[i - 1].key, rows[i].key) < 0);
        found += strncmp(rows[i].key, "list ", 5) == 0;
    }
    assert_int_equal(found, CASE_COUNT(keys));
    store_request_clear(&request);
    assert_int_equal(request.u.leases.count, 0);
}

static void held__status__shows_the_mandate(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.slot_us = now_wall_us();
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    struct lease_row row = store_fixture_held(*state, one.item.key);
    assert_string_equal(row.key, one.item.key);
    assert_string_equal(row.holder, one.holder);
    assert_int_equal(row.state, LEASE_HELD);
    assert_false(row.is_revoked);
    assert_int_equal(row.slot_us, one.item.slot_us);
    assert_in_range(row.expires_us - row.acquired_us, FOREVER_MS * 1000 - SECOND_US,
                    FOREVER_MS * 1000 + SECOND_US);
    assert_in_range(row.remaining_ms, FOREVER_MS - 30000, FOREVER_MS);
}

static void no_such_key__status_and_history__are_empty(void **state)
{
    assert_false(has_lease(*state, "no such key"));
    assert_int_equal(count_runs(*state, "no such key"), 0);
}

/* ---- history ------------------------------------------------------------------------------ */

static void three_runs__history__is_newest_first_and_bounded(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender runs[3];
    for (int i = 0; i < 3; i++) {
        runs[i] = contender_winner(*state, key);
        contender_release(*state, &runs[i], OUTCOME_SUCCEEDED, 0);
        store_fixture_wait_ms(*state, 2);
    }
    struct store_request request = {.kind = STORE_HISTORY, .u.runs = {.key = key, .limit = 2}};
    assert_int_equal(store_fixture_ask(*state, &request), STORE_ANSWERED);
    assert_int_equal(request.u.runs.count, 2);
    assert_string_equal(request.u.runs.rows[0].run_id, runs[2].run_id);
    assert_string_equal(request.u.runs.rows[1].run_id, runs[1].run_id);
    store_request_clear(&request);
}

static void run_of_a_job__history_by_job__finds_it(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.job = "job of the history";
    one.item.slot_us = now_wall_us();
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    size_t count;
    struct run_row run = store_fixture_last_run(*state, one.item.job, &count);
    assert_int_equal(count, 1);
    assert_string_equal(run.job, one.item.job);
    assert_string_equal(run.key, one.item.key);
    assert_int_equal(run.slot_us, one.item.slot_us);
    assert_int_equal(run.fence, one.item.fence);
    assert_int_equal(run.outcome, OUTCOME_NONE);
    assert_int_equal(run.status, -1);
    assert_true(run.finished_us == NO_INSTANT);

    struct contender without = contender_winner(*state, store_fixture_key(*state));
    run = store_fixture_last_run(*state, without.item.key, &count);
    assert_null(run.job);
    assert_true(run.slot_us == NO_INSTANT);
}

static struct run_list slots_of(struct store_fixture *fixture, struct store_request *request,
                                const char *key, int64_t from_us, int64_t limit)
{
    *request = (struct store_request){
        .kind = STORE_HISTORY,
        .u.runs = {.key = key, .limit = limit, .is_of_slots = true, .from_us = from_us},
    };
    assert_int_equal(store_fixture_ask(fixture, request), STORE_ANSWERED);
    return request->u.runs;
}

static void runs_of_three_slots__history_of_slots__is_by_slot_from_the_one_asked(void **state)
{
    const char *key = store_fixture_key(*state);
    int64_t now_us = now_wall_us();
    static const int order[] = {2, 3, 1}; /* seconds ago */
    struct contender without = contender_winner(*state, key);
    contender_release(*state, &without, OUTCOME_SUCCEEDED, 0);
    for (size_t i = 0; i < CASE_COUNT(order); i++) {
        struct contender one = contender(key);
        one.item.slot_us = now_us - order[i] * SECOND_US;
        assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
        contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    }
    struct store_request request;
    struct run_list list = slots_of(*state, &request, key, now_us - 2 * SECOND_US, 10);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.rows[0].slot_us, now_us - 1 * SECOND_US);
    assert_int_equal(list.rows[1].slot_us, now_us - 2 * SECOND_US);
    assert_int_equal(list.oldest_slot_us, now_us - 3 * SECOND_US);
    store_request_clear(&request);

    list = slots_of(*state, &request, key, now_us - 3 * SECOND_US, 1);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.rows[0].slot_us, now_us - 1 * SECOND_US);
    store_request_clear(&request);
}

static void no_run_with_a_slot__history_of_slots__is_empty_and_knows_no_oldest(void **state)
{
    const char *key = store_fixture_key(*state);
    struct contender without = contender_winner(*state, key);
    contender_release(*state, &without, OUTCOME_SUCCEEDED, 0);
    struct store_request request;
    struct run_list list = slots_of(*state, &request, key, 0, 10);
    assert_int_equal(list.count, 0);
    assert_true(list.oldest_slot_us == NO_INSTANT);
    store_request_clear(&request);
}

/* ---- purge, forget ------------------------------------------------------------------------ */

static void live_held_back_or_unfinished__purge_of_everything__keeps_them(void **state)
{
    struct contender live = contender_winner(*state, store_fixture_key(*state));
    struct contender hold = contender(store_fixture_key(*state));
    hold.item.hold_ms = FOREVER_MS;
    assert_int_equal(contender_claim(*state, &hold), CLAIM_WON);
    contender_release(*state, &hold, OUTCOME_SUCCEEDED, 0);
    struct contender unfinished = contender_winner(*state, store_fixture_key(*state));
    contender_free(*state, &unfinished);

    purge_now(*state, (struct purge){0});
    assert_int_equal(contender_renew(*state, &live, NULL), RENEW_RENEWED);
    assert_int_equal(count_runs(*state, live.item.key), 1);
    assert_int_equal(store_fixture_held(*state, hold.item.key).state, LEASE_ON_HOLD);
    assert_int_equal(count_runs(*state, unfinished.item.key), 1);
    struct contender next = contender_winner(*state, unfinished.item.key);
    assert_string_equal(next.item.abandoned, unfinished.run_id);
}

static void released__purged__is_gone_and_the_fence_grows_on(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    purge_now(*state, keep_all);
    assert_true(has_lease(*state, one.item.key));
    assert_int_equal(count_runs(*state, one.item.key), 1);

    struct purge purge = purge_now(*state, (struct purge){0});
    assert_true(purge.leases_deleted >= 1);
    assert_true(purge.runs_deleted >= 1);
    assert_false(has_lease(*state, one.item.key));
    assert_int_equal(count_runs(*state, one.item.key), 0);
    assert_true(contender_winner(*state, one.item.key).item.fence > one.item.fence);
}

static void released_with_slot__purged__is_kept_as_long_as_slots_are(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.slot_us = now_wall_us();
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    struct purge purge = {.slot_retention_ms = DAY_MS};
    purge_now(*state, purge);
    assert_true(has_lease(*state, one.item.key));
    struct contender two = contender(one.item.key);
    two.item.slot_us = one.item.slot_us;
    assert_int_equal(contender_claim(*state, &two), CLAIM_DONE); /* although its run is gone */
    purge_now(*state, (struct purge){0});
    assert_false(has_lease(*state, one.item.key));
}

static void once_succeeded__purged__stays_done_until_it_is_forgotten(void **state)
{
    struct contender one = contender(store_fixture_key(*state));
    one.item.is_once = true;
    assert_int_equal(contender_claim(*state, &one), CLAIM_WON);
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    purge_now(*state, (struct purge){0});
    struct contender two = contender(one.item.key);
    two.item.is_once = true;
    assert_int_equal(contender_claim(*state, &two), CLAIM_DONE);

    struct purge forgotten = store_fixture_forget(*state, one.item.key);
    assert_int_equal(forgotten.leases_deleted, 1);
    assert_int_equal(forgotten.runs_deleted, 1);
    assert_int_equal(contender_claim(*state, &two), CLAIM_WON);
    assert_true(two.item.fence > one.item.fence);
}

static void live__forgotten__goes_on(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    struct purge forgotten = store_fixture_forget(*state, one.item.key);
    assert_int_equal(forgotten.leases_deleted, 0);
    assert_int_equal(forgotten.runs_deleted, 0);
    assert_int_equal(contender_renew(*state, &one, NULL), RENEW_RENEWED);
}

static void run_of_a_dead_holder__key_forgotten__is_closed_as_abandoned(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    contender_free(*state, &one);
    assert_int_equal(store_fixture_forget(*state, one.item.key).leases_deleted, 1);
    assert_false(has_lease(*state, one.item.key));
    size_t count;
    assert_int_equal(store_fixture_last_run(*state, one.item.key, &count).outcome,
                     OUTCOME_ABANDONED);
    assert_int_equal(count, 1);
    assert_string_equal(contender_winner(*state, one.item.key).item.abandoned, "");
}

static void one_key__forgotten__others_stay(void **state)
{
    struct contender one = contender_winner(*state, store_fixture_key(*state));
    contender_release(*state, &one, OUTCOME_SUCCEEDED, 0);
    assert_int_equal(store_fixture_forget(*state, "no such key").leases_deleted, 0);
    assert_true(has_lease(*state, one.item.key));
    assert_int_equal(count_runs(*state, one.item.key), 1);
}

/* ---- the store itself --------------------------------------------------------------------- */

static void schema_is_there__init_again__creates_nothing(void **state)
{
    struct store_request request = {.kind = STORE_INIT};
    assert_int_equal(store_fixture_ask(*state, &request), STORE_ANSWERED);
    assert_false(request.u.init.is_created);
}

static void healthy_store__inspected__has_a_description_and_no_fault(void **state)
{
    struct store_request request = {.kind = STORE_INSPECT};
    assert_int_equal(store_fixture_ask(*state, &request), STORE_ANSWERED);
    assert_non_null(request.u.inspection.description);
    assert_true(strlen(request.u.inspection.description) > 0);
    for (size_t i = 0; i < request.u.inspection.fault_count; i++)
        print_error("# %s\n", request.u.inspection.faults[i].text);
    assert_int_equal(request.u.inspection.fault_count, 0);
    store_request_clear(&request);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(several_keys__status_of_all__is_sorted_by_bytes),
        cmocka_unit_test(held__status__shows_the_mandate),
        cmocka_unit_test(no_such_key__status_and_history__are_empty),
        cmocka_unit_test(three_runs__history__is_newest_first_and_bounded),
        cmocka_unit_test(run_of_a_job__history_by_job__finds_it),
        cmocka_unit_test(runs_of_three_slots__history_of_slots__is_by_slot_from_the_one_asked),
        cmocka_unit_test(no_run_with_a_slot__history_of_slots__is_empty_and_knows_no_oldest),
        cmocka_unit_test(live_held_back_or_unfinished__purge_of_everything__keeps_them),
        cmocka_unit_test(released__purged__is_gone_and_the_fence_grows_on),
        cmocka_unit_test(released_with_slot__purged__is_kept_as_long_as_slots_are),
        cmocka_unit_test(once_succeeded__purged__stays_done_until_it_is_forgotten),
        cmocka_unit_test(live__forgotten__goes_on),
        cmocka_unit_test(run_of_a_dead_holder__key_forgotten__is_closed_as_abandoned),
        cmocka_unit_test(one_key__forgotten__others_stay),
        cmocka_unit_test(schema_is_there__init_again__creates_nothing),
        cmocka_unit_test(healthy_store__inspected__has_a_description_and_no_fault),
    };
    return store_fixture_run("lists", cases, CASE_COUNT(cases));
}
