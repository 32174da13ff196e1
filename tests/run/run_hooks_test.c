/* SPDX-License-Identifier: ISC */
/* Which hook a run orders, with what facts, and not before its lease is given back. */
#include "run/hooks.h"
#include "run_fixture.h"

#include <inttypes.h>

static struct hooks hooks;

/* Stands for hooks.c: an order stands in the journal. */
void hooks_add(struct hooks *ordered, const struct hook_facts *facts)
{
    assert_ptr_equal(ordered, &hooks);
    assert_string_equal(facts->key, "nightly");
    journal_add("%s %s status %d fence %" PRId64 " run %s slot %s attempt %d: %s",
                hook_name(facts->hook), run_outcome_name(facts->outcome), facts->status,
                facts->fence, facts->run_id[0] == '\0' ? "-" : "+",
                facts->slot[0] == '\0' ? "-" : facts->slot, facts->attempt,
                facts->error == NULL ? "-" : facts->error);
}

static void start_running(struct run_fixture *fixture)
{
    fixture->spec.hooks = &hooks;
    run_fixture_start_running(fixture);
}

static void run__ends__its_hook_comes_after_the_release(void **state)
{
    struct run_fixture *fixture = *state;
    start_running(fixture);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_journal(STARTED "0 release succeeded 0 within 2500\n"
                           "1 on-success succeeded status 0 fence 7 run + slot - attempt 1: -\n"
                           "1 dismiss\n"
                           "1 finished 0\n");
}

static void run__without_hooks__orders_none(void **state)
{
    struct run_fixture *fixture = *state;
    run_fixture_start_running(fixture);
    run_fixture_end_command(W_EXITCODE(3, 0));
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("on-"), 0);
}

static void assert_ordered(const char *order)
{
    assert_int_equal(journal_count("on-"), 1);
    if (journal_count(order) != 1)
        fail_msg("%s is not in\n%s", order, journal_text());
}

static void run__fails__on_failure_with_status_and_sentence(void **state)
{
    struct run_fixture *fixture = *state;
    start_running(fixture);
    run_fixture_end_command(W_EXITCODE(3, 0));
    run_fixture_run_to_end(fixture);
    assert_ordered("on-failure failed status 3 fence 7 run + slot - attempt 1: the command failed "
                   "with exit status 3\n");
}

static void run__stopped__on_failure_that_says_so(void **state)
{
    struct run_fixture *fixture = *state;
    start_running(fixture);
    run_signal(&fixture->run, SIGTERM);
    run_fixture_end_command(W_EXITCODE(0, SIGTERM));
    run_fixture_run_to_end(fixture);
    assert_ordered("on-failure stopped status 143 fence 7 run + slot - attempt 1: leaserun was "
                   "told to end: SIGTERM came\n");
}

static void run__not_started__on_failure_without_status(void **state)
{
    struct run_fixture *fixture = *state;
    fixture->spec.hooks = &hooks;
    run_fixture_play(STORE_CLAIM, run_fixture_won);
    run_fixture_play(STORE_RELEASE, run_fixture_released);
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, 3);
    fake_command_not_started(127, "nosuch: No such file or directory");
    fake_command_empty(GUARD_KILLER_NONE);
    run_fixture_run_to_end(fixture);
    assert_ordered("on-failure not_started status -1 fence 7 run + slot - attempt 1: nosuch: No "
                   "such file or directory\n");
}

static void run__lost_by_a_verdict__on_lost_with_the_reason(void **state)
{
    struct run_fixture *fixture = *state;
    fixture->spec.hooks = &hooks;
    run_fixture_play(STORE_CLAIM, run_fixture_won);
    FAKE_STORE_ANSWERS(STORE_RENEW, {.renew = RENEW_LOST, .reason = LOST_REVOKED});
    FAKE_STORE_ANSWERS(STORE_RELEASE, {.release = RELEASE_NOT_OURS});
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, EVERY_MS + 10);
    run_fixture_end_command(W_EXITCODE(0, SIGTERM));
    run_fixture_run_to_end(fixture);
    assert_ordered("on-lost lost status 143 ");
    assert_int_equal(journal_count(lost_reason_name(LOST_REVOKED)), 1);
}

static void run__row_was_anothers_at_the_release__on_lost(void **state)
{
    struct run_fixture *fixture = *state;
    fixture->spec.hooks = &hooks;
    run_fixture_play(STORE_CLAIM, run_fixture_won);
    FAKE_STORE_ANSWERS(STORE_RELEASE, {.release = RELEASE_NOT_OURS});
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, 3);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_ordered("on-lost lost status 0 ");
}

static void run__release_fails__the_hook_of_its_outcome(void **state)
{
    struct run_fixture *fixture = *state;
    fixture->spec.hooks = &hooks;
    run_fixture_play(STORE_CLAIM, run_fixture_won);
    run_fixture_play(STORE_RELEASE, run_fixture_down);
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, 3);
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_ordered("on-success succeeded status 0 ");
}

/* ---- claims ---------------------------------------------------------------------------------- */

static const struct claimed {
    const char *what;
    struct fake_answer answer;
    const char *order; /* NULL: none */
} claims[] = {
    {"missed, first to tell",
     {.claim = CLAIM_MISSED, .is_first_to_tell = true},
     "on-missed missed status -1 fence 0 run - slot 2026-01-01T10:00:00Z attempt 0: the slot's"},
    {"missed, told by another", {.claim = CLAIM_MISSED}, NULL},
    {"skipped, first to tell", {.claim = CLAIM_SKIPPED, .is_first_to_tell = true}, NULL},
    {"held", {.claim = CLAIM_HELD, .other = "there/8/b", .wait_ms = 90000}, NULL},
    {"done", {.claim = CLAIM_DONE}, NULL},
};

static void claim__answered__on_missed_for_the_first_to_tell_alone(void **state)
{
    struct run_fixture *fixture = *state;
    for (size_t i = 0; i < CASE_COUNT(claims); i++) {
        if (i > 0)
            run_fixture_set_up(state);
        fixture->spec.hooks = &hooks;
        fixture->job.once_per = ONCE_PER_MINUTE;
        run_fixture_play(STORE_CLAIM, &claims[i].answer);
        run_fixture_start(fixture);
        run_fixture_run_to_end(fixture);
        if (claims[i].order != NULL)
            assert_ordered(claims[i].order);
        else
            assert_int_equal(journal_count("on-"), 0);
        if (i + 1 < CASE_COUNT(claims))
            run_fixture_tear_down(state);
    }
}

static void claim__won_after_a_run_that_died__on_abandoned_and_then_its_own(void **state)
{
    struct run_fixture *fixture = *state;
    fixture->spec.hooks = &hooks;
    FAKE_STORE_ANSWERS(
        STORE_CLAIM,
        {.claim = CLAIM_WON, .fence = 7, .abandoned = "deadrun", .other = "there/8/b"});
    run_fixture_play(STORE_RELEASE, run_fixture_released);
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, 3);
    assert_ordered("on-abandoned abandoned status -1 fence 6 run + slot - attempt 0: it never told "
                   "its end: its leaserun died (there/8/b)\n");
    run_fixture_end_command(W_EXITCODE(0, 0));
    run_fixture_run_to_end(fixture);
    assert_int_equal(journal_count("on-success"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(run__ends__its_hook_comes_after_the_release),
        CASE(run__without_hooks__orders_none),
        CASE(run__fails__on_failure_with_status_and_sentence),
        CASE(run__stopped__on_failure_that_says_so),
        CASE(run__not_started__on_failure_without_status),
        CASE(run__lost_by_a_verdict__on_lost_with_the_reason),
        CASE(run__row_was_anothers_at_the_release__on_lost),
        CASE(run__release_fails__the_hook_of_its_outcome),
        CASE(claim__answered__on_missed_for_the_first_to_tell_alone),
        CASE(claim__won_after_a_run_that_died__on_abandoned_and_then_its_own),
    };
    return cmocka_run_group_tests_name("run_hooks", tests, NULL, NULL);
}
