/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "fake_clock.h"
#include "fake_store.h"
#include "journal.h"
#include "lease/renew.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ttl 3 m, grace 5 s: renewed every 42,850 ms; TERM at 171,400 after the sending. */
#define EVERY_MS 42850
#define TERM_MS  171400

struct fixture {
    uv_loop_t loop;
    struct store *store;
    struct lease lease;
    struct renew renew;
    struct handles handles;
    int renewed_count, failed_count, lost_count, settled_count;
    int failed_in_outage_count;
    bool was_renewed; /* by the last attempt that settled */
    int64_t settled_boot_ms;
};

static void on_renewed(void *owner)
{
    struct fixture *fixture = owner;
    fixture->renewed_count++;
    fixture->failed_in_outage_count = 0;
    fixture->was_renewed = true;
    journal_add("renewed");
}

static void on_failed(void *owner, const struct error *why, int64_t left_ms)
{
    struct fixture *fixture = owner;
    fixture->failed_count++;
    assert_true(++fixture->failed_in_outage_count <= 2);
    journal_add("failed, %" PRId64 " left: %s", left_ms, why->text);
}

static void on_lost(void *owner, enum lost_reason reason, const char *other)
{
    struct fixture *fixture = owner;
    fixture->lost_count++;
    journal_add("lost %d %s", reason, other);
}

static void on_settled(void *owner)
{
    struct fixture *fixture = owner;
    assert_false(renew_is_asking(&fixture->renew));
    fixture->settled_count++;
    fixture->settled_boot_ms = now_boot_ms();
}

static const struct renew_listener listener = {
    .renewed = on_renewed,
    .failed = on_failed,
    .lost = on_lost,
    .settled = on_settled,
};

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
                                   .fence = 5,
                                   .timing = lease_timing(180000, 5000),
                                   .sent_boot_ms = now_boot_ms()};
    renew_start(&fixture.renew, &fixture.loop, fixture.store, &fixture.lease, &listener, &fixture);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    renew_stop(&fixture->renew);
    store_close(fixture->store, NULL, NULL);
    renew_close(&fixture->renew, &fixture->handles);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    journal_done();
    return uv_loop_close(&fixture->loop);
}

#define DOWN                                                                                       \
    {                                                                                              \
        .fate = FAKE_FAILS, .failure = FAILURE_UNREACHABLE, .fault = "connection lost",            \
        .is_repeated = true                                                                        \
    }

static void renew__answered__next_is_counted_from_the_sending(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RENEW, {.connecting_ms = 30, .after_ms = 1000},
                       {.after_ms = 4000, .is_repeated = true});
    fake_clock_run_for(&fixture->loop, 3 * EVERY_MS + 4100);
    assert_journal("42850 renew within 5000\n"
                   "43880 renewed\n"
                   "85730 renew within 5000\n" /* 42880 + 42850 */
                   "89730 renewed\n"
                   "128580 renew within 5000\n"
                   "132580 renewed\n");
    assert_int_equal(journal_ms(fixture->lease.sent_boot_ms), 128580);
    assert_int_equal(fixture->settled_count, 3);
    const struct store_request *request = fake_store_last(STORE_RENEW);
    assert_int_equal(request->u.renew.items->fence, 5);
    assert_int_equal(request->u.renew.items->ttl_ms, 180000);
    assert_string_equal(request->u.renew.items->key, "nightly");
    assert_string_equal(request->u.renew.items->holder, "here/1/a");
}

static void renew__failed_once__repeated_within_a_second_and_told_once(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RENEW,
                       {.fate = FAKE_FAILS, .failure = FAILURE_RIGHTS, .fault = "not allowed"},
                       {.after_ms = 2, .is_repeated = true});
    fake_clock_run_for(&fixture->loop, EVERY_MS + 2000);
    assert_journal("42850 renew within 5000\n"
                   "42850 failed, 128550 left: not allowed\n"
                   "42900 renew within 5000\n"
                   "42902 renewed\n");
    assert_int_equal(fixture->settled_count, 2);
    assert_int_equal(fixture->renew.error.kind, ERROR_NONE); /* of this outage */
}

static void renew__two_outages__each_is_told(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RENEW, {.fate = FAKE_FAILS, .fault = "one"}, {.after_ms = 1},
                       {.fate = FAKE_FAILS, .fault = "two"}, {.is_repeated = true});
    fake_clock_run_for(&fixture->loop, 2 * EVERY_MS + 1000);
    assert_int_equal(fixture->failed_count, 2);
    assert_int_equal(fixture->renewed_count, 2);
}

static void renew__outage__told_at_once_and_at_half_and_silent_past_term(void **state)
{
    static const struct fake_answer down[] = {DOWN};
    struct fixture *fixture = *state;
    fake_store_answers(STORE_RENEW, down, 1);
    fake_clock_run_for(&fixture->loop, TERM_MS - 1);
    assert_int_equal(fixture->failed_count, 2);
    assert_int_equal(journal_count("failed, 128550 left"), 1); /* three quarters */
    assert_int_equal(journal_count("failed, 85"), 1);          /* a half: 85,700 */
    assert_in_range(journal_count(" renew within"), (TERM_MS - EVERY_MS) / 1000,
                    (TERM_MS - EVERY_MS) / 1000 + 6);
    int asked_count = journal_count(" renew within");
    fake_clock_run(&fixture->loop);
    assert_int_equal(journal_count(" renew within"), asked_count);
    assert_int_equal(fixture->lost_count, 0); /* a missing answer is never a verdict */
    assert_string_equal(fixture->renew.error.text, "connection lost");
}

static void renew__unanswered__given_up_and_repeated_within_a_second(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RENEW, {.fate = FAKE_SILENT}, {.is_repeated = true});
    fake_clock_run_for(&fixture->loop, EVERY_MS + 6000);
    assert_journal("42850 renew within 5000\n"
                   "47850 failed, 123550 left: the store gave no answer in time\n"
                   "47900 renew within 5000\n"
                   "47900 renewed\n");
}

static void renew__little_time_left__attempt_ends_with_it(void **state)
{
    static const struct fake_answer silent = {
        .fate = FAKE_SILENT, .is_unsent = true, .is_repeated = true};
    struct fixture *fixture = *state;
    fake_store_answers(STORE_RENEW, &silent, 1);
    fake_clock_run(&fixture->loop);
    /* An attempt that waits for a connection must not leave past the TERM instant either. */
    const struct store_request *last = fake_store_last(STORE_RENEW);
    assert_in_range(last->limit_ms, 1, 5000);
    assert_int_equal(journal_ms(now_boot_ms()) <= TERM_MS + 1000, true);
    assert_null(strstr(journal_text(), "171400 renew"));
    assert_int_equal(fixture->lost_count, 0);
    fake_clock_run_for(&fixture->loop, 400000);
}

static void renew__row_locked__is_not_lost(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RENEW, {.renew = RENEW_LOCKED}, {.renew = RENEW_LOCKED},
                       {.is_repeated = true});
    fake_clock_run_for(&fixture->loop, EVERY_MS + 3000);
    assert_journal("42850 renew within 5000\n"
                   "42850 failed, 128550 left: somebody holds a lock on the lease's row\n"
                   "42900 renew within 5000\n"
                   "43000 renew within 5000\n"
                   "43000 renewed\n");
}

static void renew__lost__told_once_and_silent_from_then_on(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RENEW,
                       {.renew = RENEW_LOST, .reason = LOST_TAKEN, .other = "them", .after_ms = 5});
    fake_clock_run_for(&fixture->loop, EVERY_MS + 10);
    renew_now(&fixture->renew);
    fake_clock_run_for(&fixture->loop, 400000);
    assert_journal("42850 renew within 5000\n"
                   "42855 lost 0 them\n");
}

static void renew__process_stopped_past_term__nothing_is_sent(void **state)
{
    struct fixture *fixture = *state;
    fake_clock_run_for(&fixture->loop, 40000);
    fake_clock_stop_for(TERM_MS - 40000);
    fake_clock_run(&fixture->loop);
    assert_journal("");
    renew_now(&fixture->renew);
    fake_clock_run(&fixture->loop);
    assert_journal("");
}

static void renew__process_stopped_short_of_term__sent_at_once(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RENEW, {.after_ms = 2, .is_repeated = true});
    fake_clock_run_for(&fixture->loop, 40000);
    fake_clock_stop_for(TERM_MS - 40000 - 1000);
    fake_clock_run_for(&fixture->loop, 10);
    assert_journal("170400 renew within 1000\n"
                   "170402 renewed\n");
}

static void
renew__stopped_with_an_answer_waiting__its_deadline_counts_from_the_sending(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RENEW, {.after_ms = 10});
    fake_clock_run_for(&fixture->loop, EVERY_MS + 5);
    fake_clock_stop_for(300000);
    fake_clock_run(&fixture->loop);
    assert_journal("42850 renew within 5000\n"
                   "342855 renewed\n"); /* and over: past the new TERM instant, nothing is sent */
    assert_int_equal(journal_ms(fixture->lease.sent_boot_ms), EVERY_MS);
}

static void renew_now__between_two__asks_at_once(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RENEW, {.after_ms = 1, .is_repeated = true});
    fake_clock_run_for(&fixture->loop, 100);
    renew_now(&fixture->renew);
    fake_clock_run_for(&fixture->loop, EVERY_MS + 1);
    assert_journal("100 renew within 5000\n"
                   "101 renewed\n"
                   "42950 renew within 5000\n"
                   "42951 renewed\n");
}

static void renew_now__while_asking__asks_once(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RENEW, {.after_ms = 1000, .is_repeated = true});
    fake_clock_run_for(&fixture->loop, EVERY_MS + 500);
    renew_now(&fixture->renew);
    fake_clock_run_for(&fixture->loop, EVERY_MS - 501);
    assert_journal("42850 renew within 5000\n"
                   "43850 renewed\n");
}

static void renew_stop__while_unsent__cancelled_and_nothing_told(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RENEW, {.fate = FAKE_SILENT, .is_unsent = true});
    fake_clock_run_for(&fixture->loop, EVERY_MS + 500);
    renew_stop(&fixture->renew);
    fake_clock_run(&fixture->loop);
    assert_false(renew_is_asking(&fixture->renew));
    assert_journal("42850 renew within 5000\n");
    assert_int_equal(journal_ms(now_boot_ms()), EVERY_MS + 500);
}

static void renew_stop__while_on_its_way__nothing_told_and_the_store_is_soon_free(void **state)
{
    struct fixture *fixture = *state;
    FAKE_STORE_ANSWERS(STORE_RENEW, {.fate = FAKE_SILENT});
    fake_clock_run_for(&fixture->loop, EVERY_MS + 500);
    renew_stop(&fixture->renew);
    renew_now(&fixture->renew);
    assert_true(renew_is_asking(&fixture->renew));
    fake_clock_run(&fixture->loop);
    assert_false(renew_is_asking(&fixture->renew));
    assert_journal("42850 renew within 5000\n");
    assert_int_equal(journal_ms(now_boot_ms()), EVERY_MS + 500 + RENEW_STOP_MS);
}

/* ---- how long an outage may last ------------------------------------------------------------ */

static void run_to(struct fixture *fixture, int64_t ms)
{
    fake_clock_run_for(&fixture->loop, ms - journal_ms(now_boot_ms()));
}

/* Nothing that is sent during the outage is ever answered. */
static bool survives(struct fixture *fixture, int64_t begins_ms, int64_t outage_ms)
{
    static const struct fake_answer silent = {.fate = FAKE_SILENT, .is_repeated = true};
    static const struct fake_answer answers = {.is_repeated = true};
    fake_store_answers(STORE_RENEW, &answers, 1);
    run_to(fixture, begins_ms);
    fake_store_answers(STORE_RENEW, &silent, 1);
    run_to(fixture, begins_ms + outage_ms);
    fake_store_answers(STORE_RENEW, &answers, 1);
    int renewed_before = fixture->renewed_count;
    fake_clock_run_for(&fixture->loop, 6000 + EVERY_MS);
    return fixture->renewed_count > renewed_before;
}

static void renew__outage_of_the_promised_length__survived_wherever_it_falls(void **state)
{
    struct fixture *fixture = *state;
    int64_t outage_ms = lease_survived_outage_ms(&fixture->lease.timing);
    assert_true(outage_ms > 2 * EVERY_MS);
    for (int64_t begins_ms = 0; begins_ms <= 2 * EVERY_MS + 10; begins_ms += 50) {
        if (!survives(fixture, begins_ms, outage_ms))
            fail_msg("an outage of %" PRId64 " from %" PRId64 " on", outage_ms, begins_ms);
        tear_down(state);
        set_up(state);
    }
}

static void renew__outage_a_little_longer__not_survived_somewhere(void **state)
{
    struct fixture *fixture = *state;
    int64_t outage_ms = lease_survived_outage_ms(&fixture->lease.timing) + 6100;
    bool is_survived = true;
    for (int64_t begins_ms = 0; begins_ms <= EVERY_MS; begins_ms += 50) {
        is_survived &= survives(fixture, begins_ms, outage_ms);
        tear_down(state);
        set_up(state);
    }
    assert_false(is_survived);
}

/* ---- any sequence of answers ---------------------------------------------------------------- */

#define SEQUENCE_LENGTH 40

static struct fake_answer any_answer(unsigned *seed)
{
    static const enum store_failure failures[] = {FAILURE_CONFLICT, FAILURE_UNREACHABLE,
                                                  FAILURE_RIGHTS};
    struct fake_answer answer = {.after_ms = rand_r(seed) % 6000,
                                 .connecting_ms = rand_r(seed) % 3 == 0 ? rand_r(seed) % 6000 : 0};
    int kind = rand_r(seed) % 10;
    if (kind < 4) {
        answer.fate = FAKE_FAILS;
        answer.is_unsent = kind == 0;
        answer.failure = failures[rand_r(seed) % 3];
        answer.fault = "some";
    } else if (kind < 6) {
        answer.fate = FAKE_SILENT;
        answer.is_unsent = kind == 4;
    } else if (kind == 6) {
        answer.renew = RENEW_LOCKED;
    }
    return answer;
}

static void check_asked(struct fixture *fixture, bool was_stopped)
{
    int64_t left_ms = lease_term_boot_ms(&fixture->lease) - now_boot_ms();
    assert_true(left_ms > 0);
    assert_true(fake_store_last(STORE_RENEW)->limit_ms <= left_ms);
    assert_true(was_stopped || fixture->settled_count == 0 || fixture->was_renewed ||
                now_boot_ms() <= fixture->settled_boot_ms + 1000);
}

/* Answers of any kind, with stops of the process between them: nothing leaves past the TERM
 * instant of what last came through, a failed attempt is repeated within a second, and an outage
 * is told once or twice (on_failed). Returns how often it asked. */
static int play_sequence(struct fixture *fixture, unsigned seed)
{
    struct fake_answer answers[SEQUENCE_LENGTH + 1] = {[SEQUENCE_LENGTH] = DOWN};
    for (int i = 0; i < SEQUENCE_LENGTH; i++)
        answers[i] = any_answer(&seed);
    fake_store_answers(STORE_RENEW, answers, SEQUENCE_LENGTH + 1);
    int asked_count = 0;
    bool was_stopped = false;
    while (fake_clock_turn(&fixture->loop)) {
        if (journal_count(" renew within") > asked_count) {
            check_asked(fixture, was_stopped);
            asked_count++;
            fixture->was_renewed = false;
            was_stopped = false;
        }
        if (rand_r(&seed) % 50 == 0) {
            fake_clock_stop_for(rand_r(&seed) % 60000);
            was_stopped = true;
        }
    }
    assert_int_equal(fixture->lost_count, 0);
    return asked_count;
}

static void renew__any_sequence__keeps_its_promises(void **state)
{
    int asked_count = 0, renewed_count = 0;
    for (unsigned seed = 1; seed <= 300; seed++) {
        asked_count += play_sequence(*state, seed);
        renewed_count += ((struct fixture *)*state)->renewed_count;
        tear_down(state);
        set_up(state);
    }
    assert_true(asked_count > 9000); /* or it has tried little */
    assert_true(renewed_count > 2000);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(renew__answered__next_is_counted_from_the_sending),
        CASE(renew__failed_once__repeated_within_a_second_and_told_once),
        CASE(renew__two_outages__each_is_told),
        CASE(renew__outage__told_at_once_and_at_half_and_silent_past_term),
        CASE(renew__unanswered__given_up_and_repeated_within_a_second),
        CASE(renew__little_time_left__attempt_ends_with_it),
        CASE(renew__row_locked__is_not_lost),
        CASE(renew__lost__told_once_and_silent_from_then_on),
        CASE(renew__process_stopped_past_term__nothing_is_sent),
        CASE(renew__process_stopped_short_of_term__sent_at_once),
        CASE(renew__stopped_with_an_answer_waiting__its_deadline_counts_from_the_sending),
        CASE(renew_now__between_two__asks_at_once),
        CASE(renew_now__while_asking__asks_once),
        CASE(renew_stop__while_unsent__cancelled_and_nothing_told),
        CASE(renew_stop__while_on_its_way__nothing_told_and_the_store_is_soon_free),
        CASE(renew__outage_of_the_promised_length__survived_wherever_it_falls),
        CASE(renew__outage_a_little_longer__not_survived_somewhere),
        CASE(renew__any_sequence__keeps_its_promises),
    };
    return cmocka_run_group_tests_name("renew", tests, NULL, NULL);
}
