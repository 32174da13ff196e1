/* SPDX-License-Identifier: ISC */
/* Three replicas for a month: their clocks differ, jump, stand still and are a year ahead, the
 * store's clock is set back, they are killed, restarted, given other tables, the store goes away,
 * requests and replies are lost. No slot twice, none lost while a replica was up in its window,
 * for every slot one story.
 *
 * LEASERUN_TEST_SEED chooses the first month, LEASERUN_TEST_SEEDS how many there are (months of 30
 * days then; without it four of a week). */
#include "month.h"

#include <stdio.h>
#include <stdlib.h>

#define QUIET_MS (6 * HOUR_MS) /* at the end nothing is disturbed */
#define YEAR_US  (INT64_C(365) * 86400 * 1000000)

static struct {
    struct replica *replica;
    int64_t skew_us; /* its clock's, apart from steps */
} hosts[HOSTS];

struct span month_spans[16384];
size_t month_span_count;
struct store_step month_steps[1024];
size_t month_step_count;

/* What has happened, by kind: a month without one of them would prove less than it says. */
enum situation {
    KILLED,
    STOPPED,
    PAUSED,
    CLOCK_JUMPED,
    CLOCK_MENDED,
    YEAR_AHEAD,
    STARTED_A_YEAR_AHEAD,
    STORE_SET_BACK,
    STORE_SET_FORWARD,
    RELOADED,
    ALL_KILLED,
    KILLED_WITH_LATE_SLOTS,
    ALL_PLACES_TAKEN,
    CLOCK_SAID_AHEAD,
    TRIED_AGAIN,
    REBOOT_RUN,
    REPLY_LOST,
    SITUATION_COUNT
};
static const char *const situation_names[SITUATION_COUNT] = {
    [KILLED] = "a replica is killed",
    [STOPPED] = "one is stopped",
    [PAUSED] = "one stands still",
    [CLOCK_JUMPED] = "one's clock is set wrong",
    [CLOCK_MENDED] = "and right",
    [YEAR_AHEAD] = "a clock is set a year ahead",
    [STARTED_A_YEAR_AHEAD] = "a replica starts with such a clock",
    [STORE_SET_BACK] = "the store's clock is set back",
    [STORE_SET_FORWARD] = "and forward",
    [RELOADED] = "a table is read again",
    [ALL_KILLED] = "all are killed",
    [KILLED_WITH_LATE_SLOTS] = "one is killed while late slots wait",
    [ALL_PLACES_TAKEN] = "max-running is reached",
    [CLOCK_SAID_AHEAD] = "clock_ahead is told",
    [TRIED_AGAIN] = "a command is tried again",
    [REBOOT_RUN] = "@reboot is run",
    [REPLY_LOST] = "a reply is lost",
};
static int seen[SITUATION_COUNT];

/* ---- lives ----------------------------------------------------------------------------------- */

static bool is_down(const struct replica *replica)
{
    return replica->is_crashed || replica->is_stopped || replica->up_from_ms == NEVER;
}

static void end_span(int host)
{
    struct replica *replica = hosts[host].replica;
    if (replica->up_from_ms == NEVER || !replica->knows_time)
        return;
    assert_true(month_span_count < CASE_COUNT(month_spans));
    month_spans[month_span_count++] = (struct span){host, replica->up_from_ms, world.now_ms};
}

static void start(int host)
{
    bool is_ahead = world.now_ms > DAY_MS && world_happens(60);
    seen[STARTED_A_YEAR_AHEAD] += is_ahead;
    hosts[host].replica = replicas_start(host, hosts[host].skew_us + (is_ahead ? YEAR_US : 0));
}

static void on_restart(void *argument)
{
    start((int)(intptr_t)argument);
}

static void restart_in(int host, int64_t ms)
{
    world_at(world.now_ms + ms, NULL, on_restart, (void *)(intptr_t)host);
}

static bool has_late_slots(const struct replica *replica)
{
    const struct roster *roster = replica->scheduler->roster;
    for (size_t i = 0; i < roster->count; i++)
        if (roster->entries[i].late_count > 0)
            return true;
    return false;
}

static void kill_it(int host)
{
    seen[KILLED]++;
    seen[KILLED_WITH_LATE_SLOTS] += has_late_slots(hosts[host].replica);
    replicas_crash(hosts[host].replica);
}

static void disturb(int host)
{
    struct replica *replica = hosts[host].replica;
    int kind = (int)world_chance(0, 99);
    int64_t down_ms = world_happens(300) ? world_chance(1, 3 * HOUR_MS) : world_chance(1, 30000);
    if (is_down(replica))
        return;
    end_span(host);
    if (kind < 25) {
        kill_it(host);
        restart_in(host, down_ms);
    } else if (kind < 50) {
        seen[STOPPED]++;
        replicas_stop(replica);
        restart_in(host, 10000 + down_ms);
    } else if (kind < 70) {
        seen[PAUSED]++;
        replicas_pause(replica, world_chance(100, 20 * MINUTE_MS));
    } else if (kind < 78) {
        seen[CLOCK_JUMPED]++;
        replicas_set_clock(replica, world_chance(-2 * HOUR_MS, 2 * HOUR_MS) * 1000);
    } else if (kind < 84) {
        seen[YEAR_AHEAD]++;
        replicas_set_clock(replica, hosts[host].skew_us + YEAR_US);
    } else {
        seen[CLOCK_MENDED]++;
        replicas_set_clock(replica, hosts[host].skew_us);
    }
}

/* A power cut: nobody is there for a while. */
static void black_out(void)
{
    int64_t down_ms = world_happens(500) ? world_chance(1, 3 * HOUR_MS) : world_chance(1, 60000);
    seen[ALL_KILLED]++;
    for (int host = 0; host < HOSTS; host++) {
        if (is_down(hosts[host].replica))
            continue;
        end_span(host);
        kill_it(host);
        restart_in(host, down_ms);
    }
}

static void on_reload(void *argument)
{
    struct replica *replica = argument;
    if (!replica->is_stopped && !replica->scheduler->shutdown.is_begun) {
        seen[RELOADED]++;
        replicas_reload(replica);
    }
}

/* Another table comes to all hosts, one after the other. */
static void deploy(void)
{
    replicas_table = (int)world_chance(0, TABLE_COUNT - 1);
    for (int host = 0; host < HOSTS; host++)
        world_at(world.now_ms + world_chance(0, 30000), hosts[host].replica, on_reload,
                 hosts[host].replica);
}

static void step_store_clock(int64_t skew_us)
{
    model_store_set_clock(skew_us);
    assert_true(month_step_count < CASE_COUNT(month_steps));
    month_steps[month_step_count++] = (struct store_step){world.now_ms, skew_us};
}

/* Forward only while nothing is held: a promise ends where the store's clock leaps. */
static void set_store_forward(void *unused)
{
    if (model_store_has_live_lease()) {
        world_at(world.now_ms + world_chance(1000, 10 * MINUTE_MS), NULL, set_store_forward, NULL);
        return;
    }
    seen[STORE_SET_FORWARD]++;
    step_store_clock(0);
}

static void set_store_back(void)
{
    if (model_store_skew_us() != 0)
        return;
    seen[STORE_SET_BACK]++;
    step_store_clock(-world_chance(1000, 5 * MINUTE_MS) * 1000);
    world_at(world.now_ms + world_chance(MINUTE_MS, 8 * HOUR_MS), NULL, set_store_forward, NULL);
}

static void look_at_places(void)
{
    for (int host = 0; host < HOSTS; host++) {
        const struct replica *replica = hosts[host].replica;
        const struct places *places = &replica->scheduler->places;
        if (!replica->is_crashed && !replica->is_stopped)
            seen[ALL_PLACES_TAKEN] += places->most > 0 && places->taken_count == places->most;
    }
}

/* Half of the time just when slots are due, and claims under way. */
static int64_t next_disturbance_ms(void)
{
    int64_t at_ms = world.now_ms + world_chance(MINUTE_MS, 3 * HOUR_MS);
    if (world_happens(500))
        return at_ms;
    return (at_ms / (10 * MINUTE_MS) + 1) * 10 * MINUTE_MS + world_chance(-20, 60);
}

static void live(int64_t until_ms)
{
    while (world.now_ms < until_ms) {
        int64_t next_ms = next_disturbance_ms();
        world_run(next_ms);
        look_at_places();
        int kind = (int)world_chance(0, 99);
        if (kind < 5)
            black_out();
        else if (kind < 10)
            deploy();
        else if (kind < 15)
            set_store_back();
        else
            disturb((int)world_chance(0, HOSTS - 1));
    }
}

/* All are there, and their clocks nearly right. */
static void calm_down(void)
{
    world_run(world.now_ms + 3 * HOUR_MS); /* who was to come back has */
    for (int host = 0; host < HOSTS; host++)
        replicas_set_clock(hosts[host].replica, hosts[host].skew_us);
    world_run(world.now_ms + QUIET_MS);
    for (int host = 0; host < HOSTS; host++)
        end_span(host);
}

static void plan_outages(int64_t until_ms)
{
    int64_t at_ms = DAY_MS / 2;
    while ((at_ms += world_chance(HOUR_MS, 3 * DAY_MS)) < until_ms)
        model_network_outage(at_ms, world_happens(800) ? world_chance(500, 10 * MINUTE_MS)
                                                       : world_chance(MINUTE_MS, 5 * HOUR_MS));
}

/* ---- jobs without slots, and what is said of clocks ------------------------------------------ */

static void check_once(void)
{
    int64_t succeeded_ms = NEVER;
    int success_count = 0;
    for (size_t i = 0; i < model_run_count; i++)
        if (model_runs[i].is_once && model_runs[i].outcome == OUTCOME_SUCCEEDED) {
            success_count++;
            succeeded_ms = model_runs[i].ended_ms;
        }
    assert_int_equal(success_count, 1);
    for (size_t i = 0; i < model_start_count; i++)
        assert_false(strcmp(model_starts[i].key, "once") == 0 &&
                     model_starts[i].at_ms > succeeded_ms);
}

static int count_lines(enum event event)
{
    int count = 0;
    for (size_t i = 0; i < model_line_count; i++)
        count += model_lines[i].event == event;
    return count;
}

static int count_starts(const char *key_begins)
{
    int count = 0;
    for (size_t i = 0; i < model_start_count; i++)
        count += strncmp(model_starts[i].key, key_begins, strlen(key_begins)) == 0;
    return count;
}

/* ---- the months ------------------------------------------------------------------------------ */

static void begin_world(uint64_t seed)
{
    world_reset(seed);
    model_store_reset();
    model_command_reset();
    model_log_reset();
    replicas_reset();
    month_span_count = month_step_count = 0;
}

static void begin(uint64_t seed, int64_t length_ms)
{
    static const int64_t skews_us[HOSTS] = {0, 18000000, -12000000};
    begin_world(seed);
    plan_outages(length_ms);
    for (int host = 0; host < HOSTS; host++) {
        hosts[host].skew_us = skews_us[host];
        start(host);
    }
}

static void add(struct month_tally *sum, const struct month_tally *tally)
{
    sum->slots += tally->slots;
    sum->faults += tally->faults;
    sum->missed_told += tally->missed_told;
    sum->skipped_told += tally->skipped_told;
    sum->abandoned_told += tally->abandoned_told;
    sum->degraded += tally->degraded;
    sum->died_untold += tally->died_untold;
    sum->closed_unheard += tally->closed_unheard;
    sum->told_instead += tally->told_instead;
}

static void live_a_month(uint64_t seed, int64_t length_ms, struct month_tally *sum)
{
    begin(seed, length_ms);
    world_run(10 * MINUTE_MS);
    live(length_ms);
    calm_down();
    check_once();
    seen[CLOCK_SAID_AHEAD] += count_lines(EVENT_CLOCK_AHEAD);
    seen[TRIED_AGAIN] += count_lines(EVENT_ATTEMPT_FAILED);
    seen[REBOOT_RUN] += count_starts("reboot@host");
    seen[REPLY_LOST] += model_network_lost_count();
    struct month_tally tally = month_check(world.now_ms - 2 * HOUR_MS);
    print_message("# seed %lu: %d slots, %zu starts, %zu rows, %d faults\n", (unsigned long)seed,
                  tally.slots, model_start_count, model_run_count, tally.faults);
    add(sum, &tally);
}

static void print_all(const struct month_tally *sum)
{
    print_message("# told: %d missed, %d skipped, %d abandoned, %d claim_failed at WARN; not told: "
                  "%d by the dead, %d closed unheard; %d in the log alone\n",
                  sum->missed_told, sum->skipped_told, sum->abandoned_told, sum->degraded,
                  sum->died_untold, sum->closed_unheard, sum->told_instead);
    for (int i = 0; i < SITUATION_COUNT; i++)
        print_message("# %s: %d\n", situation_names[i], seen[i]);
}

static void month__three_replicas_and_every_disturbance__each_slot_one_story(void **unused)
{
    const char *first_text = getenv("LEASERUN_TEST_SEED");
    const char *count_text = getenv("LEASERUN_TEST_SEEDS");
    uint64_t first = first_text == NULL ? 1 : strtoull(first_text, NULL, 10);
    uint64_t count = count_text == NULL ? 4 : strtoull(count_text, NULL, 10);
    int64_t length_ms = count_text == NULL ? 7 * DAY_MS : 30 * DAY_MS;
    struct month_tally sum = {0};
    memset(seen, 0, sizeof seen);
    for (uint64_t seed = first; seed < first + count; seed++)
        live_a_month(seed, length_ms, &sum);
    print_all(&sum);
    for (int i = 0; i < SITUATION_COUNT; i++)
        if (seen[i] == 0)
            fail_msg("it did not happen: %s", situation_names[i]);
    assert_true(sum.missed_told > 0 && sum.skipped_told > 0 && sum.abandoned_told > 0);
    assert_true(sum.degraded > 0);
    assert_int_equal(sum.faults, 0);
}

/* ---- one replica alone ----------------------------------------------------------------------- */

static void clock__set_a_year_ahead_while_the_store_is_away__no_slot_is_left_out(void **unused)
{
    begin_world(1);
    model_network_outage(HOUR_MS + MINUTE_MS, 31 * MINUTE_MS);
    struct replica *replica = replicas_start(0, 0);
    world_run(HOUR_MS + 2 * MINUTE_MS);
    replicas_set_clock(replica, YEAR_US);
    world_run(3 * HOUR_MS);
    assert_int_equal(month_check(3 * HOUR_MS - 10 * MINUTE_MS).faults, 0);
}

static void start__a_year_ahead_after_an_hour_without_replica__each_slot_is_told(void **unused)
{
    begin_world(2);
    struct replica *replica = replicas_start(0, 0);
    world_run(HOUR_MS + 2 * MINUTE_MS);
    replicas_crash(replica);
    world_run(2 * HOUR_MS + 2 * MINUTE_MS);
    replica = replicas_start(0, YEAR_US);
    world_run(4 * HOUR_MS);
    struct month_tally tally = month_check(4 * HOUR_MS - 10 * MINUTE_MS);
    assert_int_equal(tally.faults, 0);
    assert_true(tally.missed_told > 60);
}

static void reload__while_slots_wait_for_the_store__each_slot_is_told(void **unused)
{
    begin_world(3);
    model_network_outage(HOUR_MS + MINUTE_MS, 31 * MINUTE_MS);
    struct replica *replica = replicas_start(0, 0);
    world_run(HOUR_MS + 30 * MINUTE_MS);
    assert_true(has_late_slots(replica));
    replicas_reload(replica);
    world_run(3 * HOUR_MS);
    struct month_tally tally = month_check(3 * HOUR_MS - 10 * MINUTE_MS);
    assert_int_equal(tally.faults, 0);
    assert_true(tally.missed_told > 0);
}

/* ---- slots that only the dead knew of -------------------------------------------------------- */

static bool has_recorded_after(const char *job, int64_t slot_us)
{
    for (size_t i = model_run_count; i-- > 0;)
        if (strcmp(model_runs[i].job, job) == 0 && model_runs[i].slot_us > slot_us)
            return true;
    return false;
}

/* A slot waits there, and a later one has its row. */
static bool leaves_slot_behind(const struct replica *replica)
{
    const struct roster *roster = replica->scheduler->roster;
    for (size_t i = 0; i < roster->count; i++) {
        const struct entry *entry = &roster->entries[i];
        if (entry->late_count > 0 && has_recorded_after(entry->job->name, entry->late[0].slot_us))
            return true;
    }
    return false;
}

static void start__after_the_only_ones_that_knew_of_slots_died__each_slot_is_told(void **unused)
{
    const int64_t back_ms = HOUR_MS + 25 * MINUTE_MS; /* the store is, just before slots are due */
    int left_count = 0;
    for (int64_t after_ms = 0; after_ms < 2000; after_ms += 20) {
        begin_world(3);
        model_network_outage(HOUR_MS + MINUTE_MS, back_ms - 300 - HOUR_MS - MINUTE_MS);
        struct replica *replica = replicas_start(0, 0);
        world_run(back_ms + after_ms);
        left_count += leaves_slot_behind(replica);
        replicas_crash(replica);
        world_run(back_ms + 6 * MINUTE_MS);
        replicas_start(0, 0);
        world_run(3 * HOUR_MS);
        assert_int_equal(month_check(3 * HOUR_MS - 10 * MINUTE_MS).faults, 0);
    }
    assert_true(left_count > 0);
}

static int remove_tables(void **unused)
{
    replicas_done();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock__set_a_year_ahead_while_the_store_is_away__no_slot_is_left_out),
        cmocka_unit_test(start__a_year_ahead_after_an_hour_without_replica__each_slot_is_told),
        cmocka_unit_test(reload__while_slots_wait_for_the_store__each_slot_is_told),
        cmocka_unit_test(start__after_the_only_ones_that_knew_of_slots_died__each_slot_is_told),
        cmocka_unit_test(month__three_replicas_and_every_disturbance__each_slot_one_story),
    };
    return cmocka_run_group_tests_name("month", tests, NULL, remove_tables);
}
