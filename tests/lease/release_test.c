/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "fake_clock.h"
#include "fake_store.h"
#include "journal.h"
#include "lease/release.h"

#include <string.h>

struct fixture {
    uv_loop_t loop;
    struct store *store;
    struct lease lease;
    struct release release;
    struct handles handles;
    int finished_count;
};

static void on_finished(void *owner)
{
    struct fixture *fixture = owner;
    fixture->finished_count++;
    journal_add(fixture->release.is_done ? "done" : "given up");
}

static int set_up(void **state)
{
    static struct fixture fixture;
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
                                   .fence = 5,
                                   .timing = lease_timing(180000, 5000),
                                   .sent_boot_ms = now_boot_ms()};
    static const struct release_record record = {
        .outcome = OUTCOME_FAILED, .status = 3, .output_tail = "the\0end", .output_tail_length = 7};
    release_start(&fixture.release, &fixture.loop, fixture.store, &fixture.lease, &record,
                  RELEASE_LIMIT_MS, on_finished, &fixture);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    store_close(fixture->store, NULL, NULL);
    release_close(&fixture->release, &fixture->handles);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    journal_done();
    return uv_loop_close(&fixture->loop);
}

static void run_to_end(struct fixture *fixture)
{
    fake_clock_run(&fixture->loop);
    assert_int_equal(fixture->finished_count, 1);
}

static const struct fake_answer down[] = {{.fate = FAKE_FAILS,
                                           .failure = FAILURE_UNREACHABLE,
                                           .fault = "connection lost",
                                           .is_repeated = true}};

static void release__answered__done(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RELEASE, {.after_ms = 3});
    run_to_end(fixture);
    assert_journal("0 release failed 3 within 2500\n"
                   "3 done\n");
    const struct release_item *item = fake_store_last_release(STORE_RELEASE);
    assert_string_equal(item->key, "nightly");
    assert_string_equal(item->holder, "here/1/a");
    assert_string_equal(item->run_id, "r1");
    assert_int_equal(item->fence, 5);
    assert_int_equal(item->output_tail_length, 7);
    assert_memory_equal(item->output_tail, "the\0end", 7);
    assert_int_equal(fixture->release.item.verdict, RELEASE_RELEASED);
}

static void release__row_is_anothers__done_with_that_verdict(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RELEASE, {.release = RELEASE_NOT_OURS});
    run_to_end(fixture);
    assert_true(fixture->release.is_done);
    assert_int_equal(fixture->release.item.verdict, RELEASE_NOT_OURS);
}

static void release__store_down_then_up__done(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RELEASE, {.fate = FAKE_FAILS, .failure = FAILURE_CONFLICT},
                       {.fate = FAKE_FAILS, .failure = FAILURE_UNREACHABLE, .is_unsent = true},
                       {.after_ms = 2});
    run_to_end(fixture);
    assert_journal("0 release failed 3 within 2500\n"
                   "5 release failed 3 within 2500\n"
                   "15 release failed 3 within 2500\n"
                   "17 done\n");
}

static void release__store_down__repeated_until_the_limit(void **state)
{
    struct fixture *fixture = *state;
    fake_store_answers(STORE_RELEASE, down, 1);
    run_to_end(fixture);
    assert_int_equal(journal_ms(now_boot_ms()), RELEASE_LIMIT_MS);
    assert_in_range(journal_count("release failed"), 12, 20);
    assert_false(fixture->release.is_done);
    assert_string_equal(fixture->release.error.text, "connection lost");
}

static void release__unanswered__tried_on_another_connection_within_the_limit(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RELEASE, {.fate = FAKE_SILENT}, {.fate = FAKE_SILENT});
    run_to_end(fixture);
    assert_journal("0 release failed 3 within 2500\n"
                   "2505 release failed 3 within 2495\n"
                   "5000 given up\n");
}

static void release__fails_at_first__repeated_with_the_output(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RELEASE, {.fate = FAKE_FAILS, .failure = FAILURE_UNREACHABLE},
                       {.after_ms = 2});
    run_to_end(fixture);
    assert_int_equal(fake_store_last_release(STORE_RELEASE)->output_tail_length, 7);
}

static void release__half_of_its_time_is_over__repeated_without_the_output(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RELEASE, {.fate = FAKE_SILENT}, {.after_ms = 2});
    run_to_end(fixture);
    assert_true(fixture->release.is_done);
    assert_null(fake_store_last_release(STORE_RELEASE)->output_tail);
    assert_int_equal(fake_store_last_release(STORE_RELEASE)->output_tail_length, 0);
}

static void hasten__half_of_what_is_left_is_over__repeated_without_the_output(void **state)
{
    struct fixture *fixture = *state;
    fake_store_answers(STORE_RELEASE, down, 1);
    release_hasten(&fixture->release, 1000);
    fake_clock_run_for(&fixture->loop, 400);
    assert_non_null(fake_store_last_release(STORE_RELEASE)->output_tail);
    run_to_end(fixture);
    assert_null(fake_store_last_release(STORE_RELEASE)->output_tail);
}

static void release__refused_and_then_allowed__released(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RELEASE,
                       {.fate = FAKE_FAILS, .failure = FAILURE_RIGHTS, .fault = "not allowed"},
                       {.after_ms = 2});
    run_to_end(fixture);
    assert_journal("0 release failed 3 within 2500\n"
                   "5 release failed 3 within 2500\n"
                   "7 done\n");
}

static void hasten__while_asking__limit_comes_nearer(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RELEASE, {.fate = FAKE_SILENT});
    fake_clock_run_for(&fixture->loop, 200);
    release_hasten(&fixture->release, 1000);
    run_to_end(fixture);
    assert_journal("0 release failed 3 within 2500\n"
                   "1200 given up\n");
}

static void hasten__between_two_attempts__goes_on_until_the_new_limit(void **state)
{
    struct fixture *fixture = *state;
    struct fake_answer answers[] = {
        {.fate = FAKE_FAILS, .failure = FAILURE_UNREACHABLE, .fault = "connection lost"},
        {.after_ms = 1}};
    fake_store_answers(STORE_RELEASE, answers, 2);
    fake_clock_run_for(&fixture->loop, 2);
    release_hasten(&fixture->release, 1000);
    run_to_end(fixture);
    assert_journal("0 release failed 3 within 2500\n"
                   "5 release failed 3 within 997\n"
                   "6 done\n");
}

static void hasten__store_down__ends_at_the_new_limit(void **state)
{
    struct fixture *fixture = *state;
    fake_store_answers(STORE_RELEASE, down, 1);
    fake_clock_run_for(&fixture->loop, 2000);
    release_hasten(&fixture->release, 100);
    release_hasten(&fixture->release, 100000); /* never further away */
    run_to_end(fixture);
    assert_int_equal(journal_ms(now_boot_ms()), 2100);
}

static void release__process_stopped__ends_with_what_it_knows(void **state)
{
    struct fixture *fixture = *state;
    fake_store_answers(STORE_RELEASE, down, 1);
    fake_clock_run_for(&fixture->loop, 1000);
    fake_clock_stop_for(100000);
    int asked_count = journal_count("release failed");
    run_to_end(fixture);
    assert_int_equal(journal_count("release failed"), asked_count);
}

/* ---- lease.h -------------------------------------------------------------------------------- */

static void timing__ttl_and_grace__as_the_table_says(void **state)
{
    static const struct {
        int64_t ttl_ms, grace_ms;
        struct lease_timing expected;
    } rows[] = {
        {5000, 5000, {5000, 1000, 833, 791, 416}},
        {5000, 0, {5000, 1000, 0, 1000, 416}},
        {60000, 5000, {60000, 1200, 5000, 13450, 5000}},
        {60000, 60000, {60000, 1200, 10000, 12200, 5000}},
        {180000, 5000, {180000, 3600, 5000, 42850, 5000}},
        {3600000, 30000, {3600000, 72000, 30000, 874500, 5000}},
    };
    for (size_t i = 0; i < CASE_COUNT(rows); i++) {
        struct lease_timing timing = lease_timing(rows[i].ttl_ms, rows[i].grace_ms);
        const struct lease_timing *expected = &rows[i].expected;
        assert_int_equal(timing.ttl_ms, expected->ttl_ms);
        assert_int_equal(timing.margin_ms, expected->margin_ms);
        assert_int_equal(timing.loss_grace_ms, expected->loss_grace_ms);
        assert_int_equal(timing.renew_every_ms, expected->renew_every_ms);
        assert_int_equal(timing.attempt_ms, expected->attempt_ms);
    }
}

/* What every ttl must keep: TERM before KILL before expiry, and time for three attempts that are
 * not answered, their pauses included, between the first renewal and TERM. */
static void timing__any_ttl__leaves_room_for_repeats(void **state)
{
    for (int64_t ttl_ms = LEASE_TTL_LEAST_MS; ttl_ms < 86400000; ttl_ms += 1 + ttl_ms / 7) {
        for (int64_t grace_ms = 0; grace_ms < 120000; grace_ms += 1000) {
            struct lease lease = {.timing = lease_timing(ttl_ms, grace_ms), .sent_boot_ms = 10};
            assert_true(lease_term_boot_ms(&lease) <= lease_deadline_boot_ms(&lease));
            assert_true(lease_deadline_boot_ms(&lease) <= 10 + ttl_ms - 1000);
            int64_t repeats_ms = lease_term_boot_ms(&lease) - 10 - lease.timing.renew_every_ms;
            assert_true(repeats_ms >= 3 * lease.timing.attempt_ms + 50 + 100 + 200);
        }
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(release__answered__done),
        CASE(release__row_is_anothers__done_with_that_verdict),
        CASE(release__store_down_then_up__done),
        CASE(release__store_down__repeated_until_the_limit),
        CASE(release__unanswered__tried_on_another_connection_within_the_limit),
        CASE(release__fails_at_first__repeated_with_the_output),
        CASE(release__half_of_its_time_is_over__repeated_without_the_output),
        CASE(hasten__half_of_what_is_left_is_over__repeated_without_the_output),
        CASE(release__refused_and_then_allowed__released),
        CASE(hasten__while_asking__limit_comes_nearer),
        CASE(hasten__between_two_attempts__goes_on_until_the_new_limit),
        CASE(hasten__store_down__ends_at_the_new_limit),
        CASE(release__process_stopped__ends_with_what_it_knows),
        cmocka_unit_test(timing__ttl_and_grace__as_the_table_says),
        cmocka_unit_test(timing__any_ttl__leaves_room_for_repeats),
    };
    return cmocka_run_group_tests_name("release", tests, NULL, NULL);
}
