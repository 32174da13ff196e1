/* SPDX-License-Identifier: ISC */
/* What store_submit, store_cancel and store_close promise about callbacks. */
#include "store_fixture.h"

#include <stdlib.h>
#include <string.h>

#define MANY 20

/* Each request's owner is a place in here; it notes when it was called back. */
struct callbacks {
    int calls[MANY];
    int order[MANY];
    int count;
};

static struct callbacks callbacks;

static void on_done(struct store_request *request)
{
    int *calls = request->owner;
    ++*calls;
    callbacks.order[callbacks.count++ % MANY] = (int)(calls - callbacks.calls);
    store_request_clear(request);
}

static void submit_status(struct store_fixture *fixture, struct store_request *request, int place)
{
    *request = (struct store_request){
        .kind = STORE_STATUS,
        .done = on_done,
        .owner = &callbacks.calls[place],
        .u.leases = {.key = "no such key"},
    };
    store_fixture_submit(fixture, request);
}

static void turn_until(struct store_fixture *fixture, int count)
{
    while (callbacks.count < count)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    store_fixture_wait_ms(fixture, 20); /* nothing more may come */
    assert_int_equal(callbacks.count, count);
}

static int forget_callbacks(void **state)
{
    memset(&callbacks, 0, sizeof callbacks);
    return 0;
}

static void many_requests__submitted_at_once__are_called_back_once_each_in_order(void **state)
{
    struct store_request requests[MANY];
    for (int i = 0; i < MANY; i++)
        submit_status(*state, &requests[i], i);
    assert_int_equal(callbacks.count, 0);
    turn_until(*state, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(callbacks.calls[i], 1);
        assert_int_equal(callbacks.order[i], i);
        assert_int_equal(requests[i].outcome, STORE_ANSWERED);
        if (i > 0)
            assert_true(requests[i].sent_boot_ms >= requests[i - 1].sent_boot_ms);
    }
}

static void waiting_request__cancelled__is_called_back_and_was_never_sent(void **state)
{
    struct store_request first, second;
    submit_status(*state, &first, 0);
    submit_status(*state, &second, 1);
    store_cancel(((struct store_fixture *)*state)->store, &second);
    assert_int_equal(callbacks.count, 0);
    turn_until(*state, 2);
    assert_int_equal(first.outcome, STORE_ANSWERED);
    assert_int_equal(second.outcome, STORE_CANCELLED);
    assert_int_equal(second.sent_boot_ms, 0);
}

static void sent_request__cancelled__is_answered_all_the_same(void **state)
{
    struct store_fixture *fixture = *state;
    struct store_request request;
    submit_status(fixture, &request, 0);
    while (request.sent_boot_ms == 0)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    store_cancel(fixture->store, &request);
    turn_until(fixture, 1);
    assert_int_equal(request.outcome, STORE_ANSWERED);
}

static void limit_of_nothing__request__fails_as_unreachable_and_the_next_is_served(void **state)
{
    struct store_fixture *fixture = *state;
    struct store_request hopeless = {
        .kind = STORE_STATUS,
        .limit_ms = -1,
        .done = on_done,
        .owner = &callbacks.calls[0],
    };
    struct store_request next;
    store_submit(fixture->store, &hopeless);
    submit_status(fixture, &next, 1);
    turn_until(fixture, 2);
    assert_int_equal(hopeless.outcome, STORE_FAILED);
    assert_int_equal(hopeless.failure, FAILURE_UNREACHABLE);
    assert_true(strlen(hopeless.error.text) > 0);
    assert_int_equal(next.outcome, STORE_ANSWERED);
    store_request_clear(&hopeless);
}

/* The caller may free everything its request pointed to as soon as it was called back. */
static void request_given_up_while_served__its_memory_freed__nothing_touches_it(void **state)
{
    struct store_fixture *fixture = *state;
    struct contender one = contender(store_fixture_key(fixture));
    struct claim_item *item = malloc(sizeof *item);
    struct store_request *request = calloc(1, sizeof *request);
    *item = one.item;
    item->key = strdup(one.item.key);
    item->holder = strdup(one.holder);
    item->run_id = strdup(one.run_id);
    *request = (struct store_request){.kind = STORE_CLAIM,
                                      .done = on_done,
                                      .owner = &callbacks.calls[0],
                                      .u.claim = {.items = item, .count = 1}};
    store_fixture_submit(fixture, request);
    while (request->sent_boot_ms == 0)
        uv_run(&fixture->loop, UV_RUN_NOWAIT);
    store_hasten(fixture->store, request, 0);
    while (callbacks.count == 0)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    free((void *)(uintptr_t)item->key);
    free((void *)(uintptr_t)item->holder);
    free((void *)(uintptr_t)item->run_id);
    free(item);
    free(request);
    turn_until(fixture, 1);
    contender_free(fixture, &one); /* it may have won all the same */
}

static void on_closed(void *owner)
{
    *(bool *)owner = true;
}

static void requests_wait__store_closed__are_cancelled_before_it_says_closed(void **state)
{
    struct store_fixture *fixture = *state;
    struct store *store;
    struct error err;
    const struct store_config config = {.url = fixture->url, .schema = fixture->schema};
    assert_true(store_open(&fixture->loop, &config, NULL, &store, &err));
    struct store_request requests[3] = {
        {.kind = STORE_STATUS}, {.kind = STORE_STATUS}, {.kind = STORE_STATUS}};
    for (int i = 0; i < 3; i++) {
        requests[i].limit_ms = FOREVER_MS;
        requests[i].done = on_done;
        requests[i].owner = &callbacks.calls[i];
        store_submit(store, &requests[i]);
    }
    while (requests[0].sent_boot_ms == 0 && callbacks.count == 0)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    bool is_closed = false;
    store_close(store, on_closed, &is_closed);
    while (!is_closed)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    assert_int_equal(callbacks.count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(callbacks.calls[i], 1);
        store_request_clear(&requests[i]);
    }
    assert_int_equal(requests[2].outcome, STORE_CANCELLED);
}

#define CASE(name) cmocka_unit_test_setup(name, forget_callbacks)

int main(void)
{
    const struct CMUnitTest cases[] = {
        CASE(many_requests__submitted_at_once__are_called_back_once_each_in_order),
        CASE(waiting_request__cancelled__is_called_back_and_was_never_sent),
        CASE(sent_request__cancelled__is_answered_all_the_same),
        CASE(limit_of_nothing__request__fails_as_unreachable_and_the_next_is_served),
        CASE(request_given_up_while_served__its_memory_freed__nothing_touches_it),
        CASE(requests_wait__store_closed__are_cancelled_before_it_says_closed),
    };
    return store_fixture_run("requests", cases, CASE_COUNT(cases));
}
