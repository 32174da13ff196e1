/* SPDX-License-Identifier: ISC */
#include "claim_fixture.h"

#include <inttypes.h>
#include <string.h>

static const char *result_name(enum claim_result result)
{
    static const char *const names[] = {
        [CLAIM_RESULT_WON] = "won",       [CLAIM_RESULT_HELD] = "held",
        [CLAIM_RESULT_DONE] = "done",     [CLAIM_RESULT_MISSED] = "missed",
        [CLAIM_RESULT_FAILED] = "failed", [CLAIM_RESULT_CANCELLED] = "cancelled",
    };
    return names[result];
}

static void on_finished(void *owner, enum claim_result result)
{
    struct claim_fixture *fixture = owner;
    fixture->finished_count++;
    fixture->finished_ms = journal_ms(now_boot_ms());
    fixture->result = result;
    journal_add("%s", result_name(result));
}

static void on_waits(void *owner, const struct claim_item *answer)
{
    journal_add("waits for %s, %" PRId64 " left", answer->other, answer->wait_ms);
}

static void on_early(void *owner, const struct claim_item *answer)
{
    journal_add("early by %" PRId64, answer->wait_ms);
}

static const struct claim_listener listener = {
    .finished = on_finished,
    .waits = on_waits,
    .early = on_early,
};

int claim_fixture_set_up(void **state)
{
    static struct claim_fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    uv_loop_init(&fixture.loop);
    journal_start();
    fake_random_least(false);
    fake_store_reset(NULL);
    const struct store_config config = {0};
    struct error err;
    store_open(&fixture.loop, &config, NULL, &fixture.store, &err);
    fixture.lease = (struct lease){.key = "nightly",
                                   .holder = "here/1/a",
                                   .run_id = "r1",
                                   .slot_us = NO_INSTANT,
                                   .timing = lease_timing(180000, 5000)};
    *state = &fixture;
    return 0;
}

int claim_fixture_tear_down(void **state)
{
    struct claim_fixture *fixture = *state;
    store_close(fixture->store, NULL, NULL);
    if (fixture->is_started)
        claim_close(&fixture->claim, &fixture->handles);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    journal_done();
    return uv_loop_close(&fixture->loop);
}

void claim_fixture_start(struct claim_fixture *fixture, struct claim_spec spec)
{
    fixture->is_started = true;
    claim_start(&fixture->claim, &fixture->loop, fixture->store, &fixture->lease, &spec, &listener,
                fixture);
    assert_int_equal(fixture->finished_count, 0); /* never from within */
}

void claim_fixture_run_to_end(struct claim_fixture *fixture)
{
    fake_clock_run(&fixture->loop);
    assert_int_equal(fixture->finished_count, 1);
}
