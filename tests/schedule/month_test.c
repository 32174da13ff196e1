/* SPDX-License-Identifier: ISC */
/* Three replicas for a month: their clocks differ, jump and stand still, they are killed and
 * restarted, the store goes away, requests and replies are lost. No slot twice, none lost while a
 * replica was up in its window, for every slot one story. LEASERUN_TEST_SEED chooses the month. */
#include "base/time_text.h"
#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define REPLICAS 3
#define MONTH_MS (30 * DAY_MS)
#define QUIET_MS (6 * HOUR_MS) /* at the end nothing is disturbed */

static struct place_of_replica { /* a host: one replica after another */
    struct replica *replica;
    int64_t skew_us; /* its clock's, apart from steps */
} hosts[REPLICAS];

/* When each host's replica was up and undisturbed, its clock nearly right. */
static struct span {
    int host;
    int64_t from_ms, to_ms;
} spans[8192];
static size_t span_count;

static void end_span(int host)
{
    struct replica *replica = hosts[host].replica;
    if (replica->up_from_ms == NEVER || span_count == CASE_COUNT(spans))
        return;
    if (llabs(replica->skew_us) <= 30 * INT64_C(1000000))
        spans[span_count++] = (struct span){host, replica->up_from_ms, world.now_ms};
}

static void start(int host)
{
    hosts[host].replica = replicas_start("r", hosts[host].skew_us);
}

static void on_restart(void *argument)
{
    start((int)(intptr_t)argument);
}

static void disturb(int host)
{
    struct replica *replica = hosts[host].replica;
    bool is_down = replica->is_crashed || replica->is_stopped || replica->up_from_ms == NEVER;
    int kind = (int)world_chance(0, 99);
    int64_t down_ms = world_happens(300) ? world_chance(1, 3 * HOUR_MS) : world_chance(1, 30000);
    if (is_down)
        return;
    end_span(host);
    if (kind < 25) {
        replicas_crash(replica);
        world_at(world.now_ms + down_ms, NULL, on_restart, (void *)(intptr_t)host);
    } else if (kind < 50) {
        replicas_stop(replica);
        world_at(world.now_ms + 10000 + down_ms, NULL, on_restart, (void *)(intptr_t)host);
    } else if (kind < 75) {
        replicas_pause(replica, world_chance(100, 20 * MINUTE_MS));
    } else if (kind < 85) {
        replicas_set_clock(replica, world_chance(-2 * HOUR_MS, 2 * HOUR_MS) * 1000);
    } else {
        replicas_set_clock(replica, hosts[host].skew_us); /* somebody mends it */
    }
}

/* A deployment, or a power cut: nobody is there for a while. */
static void black_out(void)
{
    int64_t down_ms = world_happens(500) ? world_chance(1, 3 * HOUR_MS) : world_chance(1, 60000);
    for (int host = 0; host < REPLICAS; host++) {
        struct replica *replica = hosts[host].replica;
        if (replica->is_crashed || replica->is_stopped || replica->up_from_ms == NEVER)
            continue;
        end_span(host);
        replicas_crash(replica);
        world_at(world.now_ms + down_ms, NULL, on_restart, (void *)(intptr_t)host);
    }
}

/* Half of the time just when slots are due, and claims under way. */
static int64_t next_disturbance_ms(void)
{
    int64_t at_ms = world.now_ms + world_chance(MINUTE_MS, 4 * HOUR_MS);
    if (world_happens(500))
        return at_ms;
    return (at_ms / (10 * MINUTE_MS) + 1) * 10 * MINUTE_MS + world_chance(-20, 60);
}

static void live(int64_t until_ms)
{
    while (world.now_ms < until_ms) {
        world_run(next_disturbance_ms());
        if (world_happens(50))
            black_out();
        else
            disturb((int)world_chance(0, REPLICAS - 1));
    }
}

/* All are there, and their clocks nearly right. */
static void calm_down(void)
{
    world_run(world.now_ms + 3 * HOUR_MS); /* who was to come back has */
    for (int host = 0; host < REPLICAS; host++)
        replicas_set_clock(hosts[host].replica, hosts[host].skew_us);
    world_run(world.now_ms + QUIET_MS);
    for (int host = 0; host < REPLICAS; host++)
        end_span(host);
}

/* ---- the checks --------------------------------------------------------------------------------
 */

static const struct {
    const char *job, *schedule, *zone;
    int64_t within_ms; /* a replica that is up for so long must have started the slot */
    bool is_long;      /* the key may be held by an earlier run */
} jobs[] = {
    {"tens", "every 10m", "UTC", 3 * MINUTE_MS, false},
    {"hourly", "7 * * * *", "UTC", 3 * MINUTE_MS, false},
    {"daily", "30 2 * * *", "Europe/Paris", 3 * MINUTE_MS, false},
    {"overlap", "every 5m", "UTC", 3 * MINUTE_MS, true},
    {"waiter", "*/30 * * * *", "UTC", 3 * MINUTE_MS, true},
    {"all", "20 * * * *", "UTC", 3 * MINUTE_MS, false},
    {"latest", "40 * * * *", "UTC", 3 * MINUTE_MS, false},
    {"late", "50 * * * *", "UTC", 8 * MINUTE_MS, false},
    {"left", "0 */4 * * *", "UTC", 3 * MINUTE_MS, false},
    {"right", "0 */6 * * *", "UTC", 3 * MINUTE_MS, false},
};

struct story {
    int row_count, start_count, missed_told_count, finished_told_count;
    enum run_outcome outcome;
};

static int compare(const char *job_a, int64_t slot_a, const char *job_b, int64_t slot_b)
{
    int by_job = strcmp(job_a, job_b);
    int64_t a = slot_a / 1000000, b = slot_b / 1000000; /* those of shared keys lie apart */
    return by_job != 0 ? by_job : a < b ? -1 : a > b;
}

static int compare_runs(const void *a, const void *b)
{
    const struct model_run *x = a, *y = b;
    return compare(x->job, x->slot_us, y->job, y->slot_us);
}

static int compare_lines(const void *a, const void *b)
{
    const struct model_line *x = a, *y = b;
    return compare(x->job, x->slot_us, y->job, y->slot_us);
}

static void sort_all(void)
{
    qsort(model_runs, model_run_count, sizeof *model_runs, compare_runs);
    qsort(model_lines, model_line_count, sizeof *model_lines, compare_lines);
}

static void count_runs(const char *job, int64_t slot_us, struct story *story)
{
    size_t least = 0, most = model_run_count;
    while (least < most) {
        size_t middle = (least + most) / 2;
        if (compare(model_runs[middle].job, model_runs[middle].slot_us, job, slot_us) < 0)
            least = middle + 1;
        else
            most = middle;
    }
    for (; least < model_run_count; least++) {
        const struct model_run *run = &model_runs[least];
        if (compare(run->job, run->slot_us, job, slot_us) != 0)
            return;
        story->start_count += run->start_count;
        story->row_count += !run->is_undone;
        if (!run->is_undone)
            story->outcome = run->outcome;
    }
}

static void count_lines(const char *job, int64_t slot_us, struct story *story)
{
    size_t least = 0, most = model_line_count;
    while (least < most) {
        size_t middle = (least + most) / 2;
        if (compare(model_lines[middle].job, model_lines[middle].slot_us, job, slot_us) < 0)
            least = middle + 1;
        else
            most = middle;
    }
    for (; least < model_line_count; least++) {
        const struct model_line *line = &model_lines[least];
        if (compare(line->job, line->slot_us, job, slot_us) != 0)
            return;
        story->missed_told_count += line->event == EVENT_SLOT_MISSED && line->level > LEVEL_DEBUG;
        story->finished_told_count += line->event == EVENT_RUN_FINISHED;
    }
}

static struct story story_of(const char *job, int64_t slot_us)
{
    struct story story = {0};
    count_runs(job, slot_us, &story);
    count_lines(job, slot_us, &story);
    return story;
}

/* A replica was up from before the slot until well after it, and the store was there. */
static bool must_have_started(int64_t slot_ms, int64_t within_ms)
{
    if (!model_network_was_up(slot_ms - 40000, slot_ms + within_ms))
        return false;
    for (size_t i = 0; i < span_count; i++)
        if (spans[i].from_ms <= slot_ms - 40000 && spans[i].to_ms >= slot_ms + within_ms)
            return true;
    return false;
}

static int fault_count;

static void complain(const char *job, int64_t slot_us, const char *what, const struct story *story)
{
    char slot[TIME_TEXT_MAX];
    fault_count++;
    print_message(
        "# %s %s: %s (rows %d, starts %d, outcome %s, missed told %d, finished told %d)\n", job,
        time_text_s(slot_us, slot), what, story->row_count, story->start_count,
        run_outcome_name(story->outcome), story->missed_told_count, story->finished_told_count);
}

static void check_slot(size_t j, int64_t slot_us)
{
    const char *job = jobs[j].job;
    struct story story = story_of(job, slot_us);
    bool is_started = story.outcome != OUTCOME_MISSED && story.outcome != OUTCOME_SKIPPED;
    int64_t slot_ms = (slot_us - WORLD_EPOCH_US) / 1000;
    if (story.start_count > 1)
        complain(job, slot_us, "started twice", &story);
    if (story.row_count != 1)
        complain(job, slot_us, "not one story in the store", &story);
    /* Of a leaserun that was killed the next winner tells: after the last slots there is none. */
    bool has_next = slot_ms + 25 * HOUR_MS < world.now_ms;
    if (story.row_count == 1 && story.outcome == OUTCOME_NONE && has_next)
        complain(job, slot_us, "its story has no end", &story);
    if (story.outcome == OUTCOME_NOT_STARTED)
        complain(job, slot_us, "kept although it could not be started", &story);
    if (!is_started && story.start_count > 0)
        complain(job, slot_us, "two stories", &story);
    if (!is_started && !jobs[j].is_long && must_have_started(slot_ms, jobs[j].within_ms))
        complain(job, slot_us, "lost, though a replica was up in its window", &story);
    if (story.outcome == OUTCOME_MISSED && story.missed_told_count > 1)
        complain(job, slot_us, "told as missed more than once", &story);
    if (story.finished_told_count > 1)
        complain(job, slot_us, "told as finished more than once", &story);
}

static int check_job(size_t j, int64_t from_ms, int64_t to_ms)
{
    struct error err;
    struct slots slots = {.zone = zone_find(jobs[j].zone, &err)};
    int count = 0;
    assert_non_null(slots.zone);
    assert_true(cron_parse(jobs[j].schedule, jobs[j].job, &slots.cron, &err));
    int64_t slot_us = WORLD_EPOCH_US + from_ms * 1000;
    while ((slot_us = slots_next(&slots, slot_us)) < WORLD_EPOCH_US + to_ms * 1000) {
        check_slot(j, slot_us);
        count++;
    }
    return count;
}

/* ---- the month ---------------------------------------------------------------------------------
 */

static void plan_outages(int64_t until_ms)
{
    int64_t at_ms = DAY_MS;
    while ((at_ms += world_chance(HOUR_MS, 4 * DAY_MS)) < until_ms)
        model_network_outage(at_ms, world_happens(800) ? world_chance(500, 10 * MINUTE_MS)
                                                       : world_chance(MINUTE_MS, 5 * HOUR_MS));
}

static void month__three_replicas_and_every_disturbance__each_slot_one_story(void **unused)
{
    const char *seed = getenv("LEASERUN_TEST_SEED");
    static const int64_t skews_us[REPLICAS] = {0, 18000000, -12000000};
    world_reset(seed == NULL ? 1 : strtoull(seed, NULL, 10));
    model_store_reset();
    model_command_reset();
    model_log_reset();
    fault_count = 0;
    span_count = 0;
    plan_outages(MONTH_MS);
    for (int host = 0; host < REPLICAS; host++) {
        hosts[host].skew_us = skews_us[host];
        start(host);
    }
    world_run(10 * MINUTE_MS);
    live(MONTH_MS);
    calm_down();
    int count = 0;
    sort_all();
    for (size_t j = 0; j < CASE_COUNT(jobs); j++)
        count += check_job(j, 4 * HOUR_MS, world.now_ms - 2 * HOUR_MS);
    print_message("# %d slots, %zu starts, %zu rows\n", count, model_start_count, model_run_count);
    assert_true(count > 15000);
    assert_true(model_start_count > 10000);
    assert_int_equal(fault_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(month__three_replicas_and_every_disturbance__each_slot_one_story),
    };
    return cmocka_run_group_tests_name("month", tests, NULL, NULL);
}
