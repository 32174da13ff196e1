/* SPDX-License-Identifier: ISC */
/* Which requests the store serves together, before a backend that does what the case tells it. */
#include "base/mem.h"
#include "check.h"
#include "scripted_backend.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY     1000
#define LONG_MS  60000
#define SHORT_MS 30

/* ---- the store ----------------------------------------------------------------------------- */

static struct fixture {
    uv_loop_t loop;
    struct store *store;
    struct store_request requests[MANY];
    struct claim_item items[MANY];
    struct release_item ends[MANY];
    char keys[MANY][16];
    int calls[MANY];
    int order[MANY];
    int call_count;
    struct store_request *to_cancel; /* by the first callback */
} fixture;

static int open_store(void **state)
{
    const struct store_config config = {.url = "scripted:"};
    struct error err;
    memset(&fixture, 0, sizeof fixture);
    uv_loop_init(&fixture.loop);
    return store_open(&fixture.loop, &config, NULL, &fixture.store, &err) ? 0 : -1;
}

static int close_store(void **state)
{
    store_close(fixture.store, NULL, NULL);
    uv_run(&fixture.loop, UV_RUN_DEFAULT);
    return uv_loop_close(&fixture.loop);
}

static void turn(void)
{
    for (int i = 0; i < 5; i++)
        uv_run(&fixture.loop, UV_RUN_NOWAIT);
}

static void turn_until_called(int count)
{
    while (fixture.call_count < count)
        uv_run(&fixture.loop, UV_RUN_ONCE);
}

static void on_done(struct store_request *request)
{
    int *calls = request->owner;
    ++*calls;
    fixture.order[fixture.call_count++] = (int)(calls - fixture.calls);
    if (fixture.to_cancel != NULL)
        store_cancel(fixture.store, fixture.to_cancel);
    fixture.to_cancel = NULL;
    store_request_clear(request);
}

static struct store_request *submit(int place, struct store_request request)
{
    fixture.requests[place] = request;
    fixture.requests[place].done = on_done;
    fixture.requests[place].owner = &fixture.calls[place];
    store_submit(fixture.store, &fixture.requests[place]);
    return &fixture.requests[place];
}

static struct store_request *claim_within(int place, int key, int64_t limit_ms)
{
    snprintf(fixture.keys[place], sizeof fixture.keys[place], "key %d", key);
    fixture.items[place] = (struct claim_item){
        .key = fixture.keys[place], .holder = "h", .run_id = "r", .slot_us = NO_INSTANT};
    return submit(place, (struct store_request){
                             .kind = STORE_CLAIM,
                             .limit_ms = limit_ms,
                             .u.claim = {.items = &fixture.items[place], .count = 1},
                         });
}

static struct store_request *claim(int place, int key)
{
    return claim_within(place, key, LONG_MS);
}

static void claim_from_to(int first, int last)
{
    for (int i = first; i <= last; i++)
        claim(i, i);
    turn();
}

static struct store_request *release(int place, const char *output, size_t length)
{
    snprintf(fixture.keys[place], sizeof fixture.keys[place], "key %d", place);
    fixture.ends[place] = (struct release_item){
        .key = fixture.keys[place], .output_tail = output, .output_tail_length = length};
    return submit(place, (struct store_request){
                             .kind = STORE_RELEASE,
                             .limit_ms = LONG_MS,
                             .u.release = {.items = &fixture.ends[place], .count = 1},
                         });
}

static size_t releases_served(void)
{
    assert_non_null(scripted_backend.serving);
    assert_int_equal(scripted_backend.serving->kind, STORE_RELEASE);
    return scripted_backend.serving->u.release.count;
}

static size_t claims_served(void)
{
    assert_non_null(scripted_backend.serving);
    assert_int_equal(scripted_backend.serving->kind, STORE_CLAIM);
    return scripted_backend.serving->u.claim.count;
}

static const char *key_served(size_t i)
{
    return scripted_backend.serving->u.claim.items[i].key;
}

/* The verdict tells the place of the item. */
static void answer(void)
{
    struct store_request *request = scripted_backend.serving;
    for (size_t i = 0; request->kind == STORE_CLAIM && i < request->u.claim.count; i++) {
        request->u.claim.items[i].verdict = CLAIM_WON;
        request->u.claim.items[i].fence = atoi(request->u.claim.items[i].key + 4);
    }
    request->outcome = STORE_ANSWERED;
    scripted_backend.serving = NULL;
    scripted_backend.hooks.answered(scripted_backend.hooks.store);
    turn();
}

static void refuse(enum store_failure failure, const char *why)
{
    struct store_request *request = scripted_backend.serving;
    request->outcome = STORE_FAILED;
    request->failure = failure;
    error_set(&request->error, ERROR_STORE, "%s", why);
    scripted_backend.serving = NULL;
    scripted_backend.hooks.answered(scripted_backend.hooks.store);
    turn();
}

/* ---- who goes together --------------------------------------------------------------------- */

static void claims_submitted_at_once__served__as_one_and_each_has_its_own_verdict(void **state)
{
    claim_from_to(0, 99);
    assert_int_equal(claims_served(), 100);
    answer();
    assert_int_equal(scripted_backend.serve_count, 1);
    assert_int_equal(fixture.call_count, 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(fixture.calls[i], 1);
        assert_int_equal(fixture.order[i], i);
        assert_int_equal(fixture.requests[i].outcome, STORE_ANSWERED);
        assert_int_equal(fixture.items[i].verdict, CLAIM_WON);
        assert_int_equal(fixture.items[i].fence, i);
        assert_true(fixture.requests[i].sent_boot_ms > 0);
    }
}

static void claim_alone__served__as_it_is(void **state)
{
    struct store_request *only = claim(0, 0);
    turn();
    assert_ptr_equal(scripted_backend.serving, only);
    assert_false(only->is_waited_for);
    answer();
    assert_int_equal(fixture.call_count, 1);
}

static void more_than_a_batch_holds__served__in_two(void **state)
{
    claim_from_to(0, MANY - 1);
    assert_int_equal(claims_served(), 500);
    assert_true(scripted_backend.serving->is_waited_for);
    answer();
    assert_int_equal(claims_served(), 500);
    assert_string_equal(key_served(0), "key 500");
    answer();
    assert_int_equal(fixture.call_count, MANY);
}

static void two_claims_of_a_key__served__one_after_the_other(void **state)
{
    claim(0, 7);
    claim(1, 8);
    claim(2, 7);
    turn();
    assert_int_equal(claims_served(), 2);
    answer();
    assert_int_equal(fixture.call_count, 2);
    assert_ptr_equal(scripted_backend.serving, &fixture.requests[2]);
    answer();
}

static void
release_of_a_key_waits_before_its_claim__served__the_claim_does_not_overtake(void **state)
{
    struct release_item item = {.key = "key 2"};
    claim(0, 1);
    struct store_request *release =
        submit(1, (struct store_request){.kind = STORE_RELEASE,
                                         .limit_ms = LONG_MS,
                                         .u.release = {.items = &item, .count = 1}});
    struct store_request *after_it = claim(2, 2);
    claim(3, 3);
    turn();
    assert_int_equal(claims_served(), 2);
    assert_string_equal(key_served(1), "key 3");
    answer();
    assert_ptr_equal(scripted_backend.serving, release);
    answer();
    assert_ptr_equal(scripted_backend.serving, after_it);
    answer();
}

static void list_waits_between_claims__served__in_order(void **state)
{
    claim(0, 0);
    struct store_request *list =
        submit(1, (struct store_request){.kind = STORE_STATUS, .limit_ms = LONG_MS});
    claim(2, 2);
    turn();
    assert_ptr_equal(scripted_backend.serving, &fixture.requests[0]);
    answer();
    assert_ptr_equal(scripted_backend.serving, list);
    answer();
    answer();
    assert_int_equal(fixture.call_count, 3);
}

static void releases_with_more_output_than_goes_together__served__in_several(void **state)
{
    static char output[300000];
    release(0, output, 200000);
    release(1, output, 100000);
    release(2, NULL, 0);
    release(3, output, 300000);
    release(4, NULL, 0);
    turn();
    assert_int_equal(releases_served(), 3);
    assert_string_equal(scripted_backend.serving->u.release.items[1].key, "key 2");
    answer();
    assert_int_equal(releases_served(), 1);
    assert_int_equal(scripted_backend.serving->u.release.items[0].output_tail_length, 100000);
    answer();
    assert_int_equal(releases_served(), 1);
    answer();
    assert_int_equal(fixture.call_count, 5);
}

static void claim_due_much_sooner__served__is_left_for_later(void **state)
{
    claim(0, 0);
    claim_within(1, 1, LONG_MS / 3);
    claim_within(2, 2, LONG_MS * 2 / 3);
    claim_within(3, 3, LONG_MS * 10);
    turn();
    assert_int_equal(claims_served(), 3);
    assert_string_equal(key_served(1), "key 2");
    assert_int_equal(scripted_backend.serving->give_up_boot_ms,
                     fixture.requests[2].give_up_boot_ms);
    answer();
    answer();
}

/* ---- failures ------------------------------------------------------------------------------ */

static void batch_not_answered__its_members__fail_each(void **state)
{
    claim_from_to(0, 2);
    refuse(FAILURE_UNREACHABLE, "the cable is cut");
    assert_int_equal(fixture.call_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fixture.requests[i].outcome, STORE_FAILED);
        assert_int_equal(fixture.requests[i].failure, FAILURE_UNREACHABLE);
        assert_string_equal(fixture.requests[i].error.text, "the cable is cut");
        assert_true(fixture.requests[i].sent_boot_ms > 0);
    }
}

static void batch_in_conflict__its_members__are_served_alone_once(void **state)
{
    claim_from_to(0, 2);
    claim(3, 3);
    refuse(FAILURE_CONFLICT, "40001");
    assert_int_equal(fixture.call_count, 0);
    assert_ptr_equal(scripted_backend.serving, &fixture.requests[0]);
    assert_true(scripted_backend.serving->is_waited_for);
    answer();
    refuse(FAILURE_CONFLICT, "it was this one"); /* the second */
    assert_int_equal(fixture.call_count, 2);
    assert_int_equal(fixture.requests[1].failure, FAILURE_CONFLICT);
    assert_ptr_equal(scripted_backend.serving, &fixture.requests[2]);
    answer();
    assert_ptr_equal(scripted_backend.serving, &fixture.requests[3]);
    answer();
    claim(1, 1); /* as it would try again */
    claim(0, 0);
    turn();
    assert_int_equal(claims_served(), 2);
    answer();
}

static void batch_whose_limit_comes__its_members__fail_and_it_is_forgotten(void **state)
{
    claim_within(0, 0, SHORT_MS);
    claim_within(1, 1, SHORT_MS);
    turn_until_called(2);
    assert_int_equal(scripted_backend.forget_count, 1);
    assert_int_equal(fixture.requests[0].failure, FAILURE_UNREACHABLE);
    assert_non_null(strstr(fixture.requests[1].error.text, "no answer within"));
}

/* ---- giving up, cancelling ----------------------------------------------------------------- */

/* Its texts are freed at once: the backend must not meet them again. */
static void member_hastened__gives_up_alone__the_others_are_answered(void **state)
{
    claim(0, 0);
    char *key = mem_strdup("key 1"), *holder = mem_strdup("somebody");
    fixture.items[1] = (struct claim_item){.key = key, .holder = holder, .run_id = "r"};
    struct store_request *hasty =
        submit(1, (struct store_request){.kind = STORE_CLAIM,
                                         .limit_ms = LONG_MS,
                                         .u.claim = {.items = &fixture.items[1], .count = 1}});
    claim_from_to(2, 2);
    store_hasten(fixture.store, hasty, 1);
    turn_until_called(1);
    assert_int_equal(hasty->failure, FAILURE_UNREACHABLE);
    assert_true(hasty->sent_boot_ms > 0);
    assert_int_equal(scripted_backend.forget_count, 0);
    free(key);
    free(holder);
    assert_string_equal(key_served(1), "key 1");
    assert_string_equal(scripted_backend.serving->u.claim.items[1].holder, "somebody");
    answer();
    assert_int_equal(fixture.call_count, 3);
    assert_int_equal(fixture.calls[1], 1);
    assert_int_equal(fixture.requests[2].outcome, STORE_ANSWERED);
}

static void release_with_output_hastened__gives_up_alone__the_bytes_stay(void **state)
{
    char *output = mem_dup("a\0b", 3);
    struct store_request *hasty = release(0, output, 3);
    release(1, NULL, 0);
    turn();
    assert_int_equal(releases_served(), 2);
    store_hasten(fixture.store, hasty, 1);
    turn_until_called(1);
    free(output);
    assert_memory_equal(scripted_backend.serving->u.release.items[0].output_tail, "a\0b", 3);
    answer();
}

static void every_member_gives_up__the_batch__is_forgotten(void **state)
{
    claim_from_to(0, 1);
    store_hasten(fixture.store, &fixture.requests[0], 1);
    store_hasten(fixture.store, &fixture.requests[1], 2);
    turn_until_called(2);
    assert_int_equal(scripted_backend.forget_count, 1);
    assert_null(scripted_backend.serving);
    claim(2, 2);
    turn();
    assert_ptr_equal(scripted_backend.serving, &fixture.requests[2]);
    answer();
}

static void member_of_a_sent_batch__cancelled__is_answered_all_the_same(void **state)
{
    claim_from_to(0, 1);
    store_cancel(fixture.store, &fixture.requests[0]);
    turn();
    assert_int_equal(fixture.call_count, 0);
    answer();
    assert_int_equal(fixture.requests[0].outcome, STORE_ANSWERED);
}

static void member_of_an_unsent_batch__cancelled__the_others_are_served_without_it(void **state)
{
    scripted_backend.is_connected = false;
    claim_from_to(0, 2);
    assert_int_equal(claims_served(), 3);
    store_cancel(fixture.store, &fixture.requests[1]);
    assert_int_equal(fixture.call_count, 0);
    scripted_backend.is_connected = true;
    turn();
    assert_int_equal(fixture.requests[1].outcome, STORE_CANCELLED);
    assert_int_equal(fixture.requests[1].sent_boot_ms, 0);
    assert_int_equal(claims_served(), 2);
    assert_string_equal(key_served(1), "key 2");
    answer();
    assert_int_equal(fixture.call_count, 3);
}

static void member_of_an_unsent_batch__gives_up__the_others_are_served_without_it(void **state)
{
    scripted_backend.is_connected = false;
    claim_from_to(0, 2);
    store_hasten(fixture.store, &fixture.requests[2], 1);
    turn_until_called(1);
    turn();
    assert_int_equal(fixture.requests[2].sent_boot_ms, 0);
    assert_int_equal(claims_served(), 2);
    answer();
}

static void callback_cancels_another_member__it__has_its_answer_once(void **state)
{
    claim_from_to(0, 2);
    fixture.to_cancel = &fixture.requests[2];
    answer();
    assert_int_equal(fixture.call_count, 3);
    assert_int_equal(fixture.calls[2], 1);
    assert_int_equal(fixture.requests[2].outcome, STORE_ANSWERED);
}

static void store_closed__members__are_cancelled(void **state)
{
    claim_from_to(0, 2);
    claim(3, 3);
    assert_int_equal(close_store(state), 0);
    assert_int_equal(fixture.call_count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(fixture.requests[i].outcome, STORE_CANCELLED);
    assert_int_equal(open_store(state), 0);
}

#define BATCH_TEST(f) cmocka_unit_test_setup_teardown(f, open_store, close_store)

int main(void)
{
    const struct CMUnitTest cases[] = {
        BATCH_TEST(claims_submitted_at_once__served__as_one_and_each_has_its_own_verdict),
        BATCH_TEST(claim_alone__served__as_it_is),
        BATCH_TEST(more_than_a_batch_holds__served__in_two),
        BATCH_TEST(two_claims_of_a_key__served__one_after_the_other),
        BATCH_TEST(release_of_a_key_waits_before_its_claim__served__the_claim_does_not_overtake),
        BATCH_TEST(list_waits_between_claims__served__in_order),
        BATCH_TEST(releases_with_more_output_than_goes_together__served__in_several),
        BATCH_TEST(claim_due_much_sooner__served__is_left_for_later),
        BATCH_TEST(batch_not_answered__its_members__fail_each),
        BATCH_TEST(batch_in_conflict__its_members__are_served_alone_once),
        BATCH_TEST(batch_whose_limit_comes__its_members__fail_and_it_is_forgotten),
        BATCH_TEST(member_hastened__gives_up_alone__the_others_are_answered),
        BATCH_TEST(release_with_output_hastened__gives_up_alone__the_bytes_stay),
        BATCH_TEST(every_member_gives_up__the_batch__is_forgotten),
        BATCH_TEST(member_of_a_sent_batch__cancelled__is_answered_all_the_same),
        BATCH_TEST(member_of_an_unsent_batch__cancelled__the_others_are_served_without_it),
        BATCH_TEST(member_of_an_unsent_batch__gives_up__the_others_are_served_without_it),
        BATCH_TEST(callback_cancels_another_member__it__has_its_answer_once),
        BATCH_TEST(store_closed__members__are_cancelled),
    };
    return cmocka_run_group_tests_name("store batch", cases, NULL, NULL);
}
