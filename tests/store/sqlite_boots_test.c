/* SPDX-License-Identifier: ISC */
/* When a lease has ended, by whose clock. Time is the test's own. */
#include "sqlite_fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HOUR_MS   INT64_C(3600000)
#define BOOT_MS   (10 * HOUR_MS) /* this host has been up so long */
#define WALL_US   INT64_C(1800000000000000)
#define OTHER_ONE "11111111-2222-3333-4444-555555555555"

static int set_up(void **state)
{
    now_freeze(BOOT_MS, WALL_US);
    return sqlite_fixture_set_up(state);
}

static struct claim_item lease_of(struct sqlite_link *host, const char *key)
{
    struct claim_item item = sqlite_fixture_item(key);
    assert_int_equal(sqlite_fixture_claim(host, &item), CLAIM_WON);
    return item;
}

static struct claim_item rival_of(const char *key)
{
    return sqlite_fixture_item(key);
}

/* ---- one host ----------------------------------------------------------------------------- */

static void same_boot__ttl_passes__ends_then_and_not_before(void **state)
{
    struct sqlite_fixture *fixture = *state;
    lease_of(&fixture->link, "k");
    struct claim_item two = rival_of("k");
    now_advance_ms(59999);
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &two), CLAIM_HELD);
    assert_int_equal(two.wait_ms, 1);
    now_advance_ms(1);
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &two), CLAIM_WON);
}

static void same_boot__wall_clock_steps__changes_nothing(void **state)
{
    static const int64_t steps_ms[] = {2 * HOUR_MS, -2 * HOUR_MS, -100 * 24 * HOUR_MS};
    struct sqlite_fixture *fixture = *state;
    for (size_t i = 0; i < CASE_COUNT(steps_ms); i++) {
        now_freeze(BOOT_MS, WALL_US);
        struct claim_item one = lease_of(&fixture->link, "k");
        struct claim_item two = rival_of("k");
        now_freeze(BOOT_MS + 30000, WALL_US + steps_ms[i] * 1000);
        assert_int_equal(sqlite_fixture_claim(&fixture->link, &two), CLAIM_HELD);
        assert_int_equal(two.wait_ms, 30000);
        assert_int_equal(sqlite_fixture_renew(&fixture->link, &one, NULL), RENEW_RENEWED);
        assert_int_equal(sqlite_fixture_release(&fixture->link, &one), RELEASE_RELEASED);
        assert_int_equal(sqlite_fixture_claim(&fixture->link, &two), CLAIM_WON);
        sqlite_fixture_release(&fixture->link, &two);
    }
}

static void before_this_boot__claimed_after_it__is_free_at_once(void **state)
{
    struct sqlite_fixture *fixture = *state;
    struct sqlite_link before = sqlite_fixture_host(fixture, OTHER_ONE);
    struct claim_item one = lease_of(&before, "k");
    sqlite_link_done(&before);
    now_freeze(5000, WALL_US + 20 * 1000000); /* down for 15 s, up for 5 s */
    struct claim_item two = rival_of("k");
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &two), CLAIM_WON);
    assert_string_equal(two.abandoned, one.run_id);
    assert_true(two.fence > one.fence);
    assert_int_equal(fixture->link.note_count, 0);
}

static void hold_of_another_boot__claimed__is_kept_by_the_wall_clock(void **state)
{
    struct sqlite_fixture *fixture = *state;
    struct sqlite_link before = sqlite_fixture_host(fixture, OTHER_ONE);
    struct claim_item one = sqlite_fixture_item("k");
    one.hold_ms = HOUR_MS;
    assert_int_equal(sqlite_fixture_claim(&before, &one), CLAIM_WON);
    sqlite_fixture_release(&before, &one);
    sqlite_link_done(&before);
    struct claim_item two = rival_of("k");
    now_freeze(5000, WALL_US + 20 * 1000000);
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &two), CLAIM_HELD);
    assert_int_equal(two.wait_ms, HOUR_MS - 20000);
    now_freeze(6000, WALL_US - 24 * HOUR_MS * 1000); /* never longer than it was */
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &two), CLAIM_HELD);
    assert_int_equal(two.wait_ms, HOUR_MS);
    now_freeze(7000, WALL_US + HOUR_MS * 1000);
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &two), CLAIM_WON);
}

/* ---- two hosts, two namespaces ------------------------------------------------------------ */

static void other_host_writes_now__claimed__is_held_for_a_ttl_and_told_once(void **state)
{
    struct sqlite_fixture *fixture = *state;
    struct sqlite_link other = sqlite_fixture_host(fixture, OTHER_ONE);
    lease_of(&other, "k");
    struct claim_item two = rival_of("k");
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &two), CLAIM_HELD);
    assert_int_equal(two.wait_ms, 60000);
    assert_int_equal(fixture->link.note_count, 1);
    assert_non_null(strstr(fixture->link.notes[0], fixture->path));
    now_advance_ms(59999);
    struct sqlite_link again =
        sqlite_fixture_link(fixture); /* a process of its own, as from cron */
    struct claim_item three = rival_of("k");
    assert_int_equal(sqlite_fixture_claim(&again, &three), CLAIM_HELD);
    assert_int_equal(three.wait_ms, 1);
    assert_int_equal(again.note_count, 0);
    now_advance_ms(1);
    assert_int_equal(sqlite_fixture_claim(&again, &three), CLAIM_WON);
    sqlite_link_done(&again);
    sqlite_link_done(&other);
}

static void other_host_renews__claimed_after_a_ttl__is_still_held(void **state)
{
    struct sqlite_fixture *fixture = *state;
    struct sqlite_link other = sqlite_fixture_host(fixture, OTHER_ONE);
    struct claim_item one = lease_of(&other, "k");
    struct claim_item two = rival_of("k");
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &two), CLAIM_HELD);
    for (int i = 0; i < 10; i++) {
        now_advance_ms(30000);
        assert_int_equal(sqlite_fixture_renew(&other, &one, NULL), RENEW_RENEWED);
        assert_int_equal(sqlite_fixture_claim(&fixture->link, &two), CLAIM_HELD);
    }
    assert_int_equal(sqlite_fixture_release(&other, &one), RELEASE_RELEASED);
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &two), CLAIM_WON);
    sqlite_link_done(&other);
}

static void other_host_holds__inspected__is_a_fault(void **state)
{
    struct sqlite_fixture *fixture = *state;
    struct sqlite_link other = sqlite_fixture_host(fixture, OTHER_ONE);
    lease_of(&other, "k");
    struct store_request request = {.kind = STORE_INSPECT};
    sqlite_fixture_serve(&fixture->link, &request);
    assert_int_equal(request.outcome, STORE_ANSWERED);
    assert_int_equal(request.u.inspection.fault_count, 1);
    store_request_clear(&request);
    sqlite_link_done(&other);
}

static void time_namespace_of_this_boot__claimed__is_never_judged_by_our_clock(void **state)
{
    struct sqlite_fixture *fixture = *state;
    struct error err;
    struct sqlite_self self;
    char clock[SQLITE_CLOCK_MAX + 16];
    assert_true(sqlite_self_read(&self, &err));
    snprintf(clock, sizeof clock, "%.40s/4026532999", self.clock);
    struct sqlite_link inside = sqlite_fixture_host(fixture, clock);
    now_freeze(BOOT_MS + 100 * 24 * HOUR_MS, WALL_US - HOUR_MS * 1000); /* its offset */
    struct claim_item one = lease_of(&inside, "k");
    now_freeze(1000, WALL_US); /* outside the host has just been started */
    struct claim_item two = rival_of("k");
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &two), CLAIM_HELD);
    assert_int_equal(two.wait_ms, 60000);
    assert_int_equal(sqlite_fixture_renew(&fixture->link, &one, NULL), RENEW_LOST);
    sqlite_link_done(&inside);
}

static void
we_are_in_a_time_namespace__old_row__is_not_judged_by_a_boot_we_do_not_know(void **state)
{
    struct sqlite_fixture *fixture = *state;
    struct sqlite_link other = sqlite_fixture_host(fixture, OTHER_ONE);
    lease_of(&other, "k");
    struct sqlite_link inside = sqlite_fixture_host(fixture, "x/1");
    inside.self->is_boot_known = false;
    now_freeze(1000, WALL_US + 10 * 1000000);
    struct claim_item two = rival_of("k");
    assert_int_equal(sqlite_fixture_claim(&inside, &two), CLAIM_HELD);
    sqlite_link_done(&other);
    sqlite_link_done(&inside);
}

/* ---- processes that cannot be seen -------------------------------------------------------- */

static struct sqlite_row row_of_nobody(const struct sqlite_self *self)
{
    struct sqlite_row row = {
        .exists = true,
        .ttl_ms = 60000,
        .expires_boot_ms = BOOT_MS + 60000,
        .pid_namespace = self->pid_namespace,
        .pid = 0x3ffffff, /* beyond the largest there may be */
        .start_ticks = 1,
    };
    memcpy(row.clock, self->clock, sizeof row.clock);
    return row;
}

static void holder_is_gone__judged__only_where_processes_can_be_seen(void **state)
{
    struct error err;
    struct sqlite_self self;
    assert_true(sqlite_self_read(&self, &err));
    struct sqlite_row row = row_of_nobody(&self);
    assert_false(sqlite_liveness(&self, &row, sqlite_now()).is_live);
    row.pid_namespace++;
    assert_true(sqlite_liveness(&self, &row, sqlite_now()).is_live);
    row = row_of_nobody(&self);
    self.can_see_processes = false;
    assert_true(sqlite_liveness(&self, &row, sqlite_now()).is_live);
    self.can_see_processes = true;
    row.pid = 0; /* written where they could not */
    assert_true(sqlite_liveness(&self, &row, sqlite_now()).is_live);
}

static void pid_was_given_again__judged_by_start_time__is_gone(void **state)
{
    struct error err;
    struct sqlite_self self;
    assert_true(sqlite_self_read(&self, &err));
    struct sqlite_row row = row_of_nobody(&self);
    row.pid = getpid();
    row.start_ticks = self.start_ticks;
    assert_true(sqlite_liveness(&self, &row, sqlite_now()).is_live);
    row.start_ticks--;
    assert_false(sqlite_liveness(&self, &row, sqlite_now()).is_live);
    row.guard_pid = getpid();
    row.guard_start_ticks = self.start_ticks;
    assert_true(sqlite_liveness(&self, &row, sqlite_now()).is_live);
    row.guard_start_ticks--;
    assert_false(sqlite_liveness(&self, &row, sqlite_now()).is_live);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, sqlite_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest cases[] = {
        CASE(same_boot__ttl_passes__ends_then_and_not_before),
        CASE(same_boot__wall_clock_steps__changes_nothing),
        CASE(before_this_boot__claimed_after_it__is_free_at_once),
        CASE(hold_of_another_boot__claimed__is_kept_by_the_wall_clock),
        CASE(other_host_writes_now__claimed__is_held_for_a_ttl_and_told_once),
        CASE(other_host_renews__claimed_after_a_ttl__is_still_held),
        CASE(other_host_holds__inspected__is_a_fault),
        CASE(time_namespace_of_this_boot__claimed__is_never_judged_by_our_clock),
        CASE(we_are_in_a_time_namespace__old_row__is_not_judged_by_a_boot_we_do_not_know),
        CASE(holder_is_gone__judged__only_where_processes_can_be_seen),
        CASE(pid_was_given_again__judged_by_start_time__is_gone),
    };
    return cmocka_run_group_tests_name("sqlite boots", cases, NULL, NULL);
}
