/* SPDX-License-Identifier: ISC */
/* Three replicas for some days and one job whose runs begin again when they are interrupted
 * (if-interrupted = rerun): replicas are killed, stopped and stand still, the store goes away,
 * requests and replies are lost. An interrupted run begins again, once under each mandate, at one
 * of them, at most max-attempts times, and whoever does it says so. */
#include "base/time_text.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#define HOSTS     3
#define LENGTH_MS (4 * DAY_MS)
#define CALM_MS   (6 * HOUR_MS) /* at the end: what can begin again has */

static struct replica *replicas[HOSTS];

static struct tally {
    int killed, stopped, paused;
    int taken_over, given_up, thrice, abandoned, faults;
} sum;

/* ---- lives ----------------------------------------------------------------------------------- */

static void stop(struct replica *replica);

static void on_second_thoughts(void *argument)
{
    struct replica *replica = argument;
    if (replica->up_from_ms != NEVER)
        stop(replica);
}

/* At times it is told to end at once, with its first take-over under way. */
static void on_restart(void *argument)
{
    int host = (int)(intptr_t)argument;
    replicas[host] = replicas_start(host, 0);
    if (world_happens(300))
        world_at(world.now_ms + world_chance(1, 100), NULL, on_second_thoughts, replicas[host]);
}

static void restart_in(int host, int64_t ms)
{
    world_at(world.now_ms + ms, NULL, on_restart, (void *)(intptr_t)host);
}

static void stop(struct replica *replica)
{
    sum.stopped++;
    replicas_stop(replica);
    restart_in(replica->host, world_chance(10000, 40000));
}

static void disturb(int host)
{
    struct replica *replica = replicas[host];
    int kind = (int)world_chance(0, 99);
    int64_t down_ms = world_happens(300) ? world_chance(1, HOUR_MS) : world_chance(1, 30000);
    if (replica->up_from_ms == NEVER)
        return;
    if (kind < 45) {
        sum.killed++;
        replicas_crash(replica);
        restart_in(host, down_ms);
    } else if (kind < 90) {
        stop(replica);
    } else {
        sum.paused++;
        replicas_pause(replica, world_chance(100, 5 * MINUTE_MS));
    }
}

static void live(void)
{
    int64_t outage_ms = HOUR_MS;
    while ((outage_ms += world_chance(HOUR_MS, DAY_MS)) < LENGTH_MS)
        model_network_outage(outage_ms, world_chance(500, 10 * MINUTE_MS));
    for (int host = 0; host < HOSTS; host++)
        replicas[host] = replicas_start(host, 0);
    while (world.now_ms < LENGTH_MS) {
        world_run(world.now_ms + world_chance(MINUTE_MS, 12 * MINUTE_MS));
        disturb((int)world_chance(0, HOSTS - 1));
    }
    world_run(world.now_ms + CALM_MS);
}

/* ---- what is judged -------------------------------------------------------------------------- */

struct told {
    int won, taken_over, given_up, finished, abandoned;
};

static struct told *read_lines(void)
{
    size_t room = 1;
    for (size_t i = 0; i < model_line_count; i++) {
        size_t number = world_number_of(model_lines[i].run_id);
        room = number >= room ? number + 1 : room;
    }
    struct told *told = calloc(room + model_run_count, sizeof *told);
    assert_non_null(told);
    for (size_t i = 0; i < model_line_count; i++) {
        struct told *its = &told[world_number_of(model_lines[i].run_id)];
        its->won += model_lines[i].event == EVENT_CLAIM_WON;
        its->taken_over += model_lines[i].event == EVENT_RUN_TAKEN_OVER;
        its->given_up += model_lines[i].event == EVENT_RUN_GIVEN_UP;
        its->finished += model_lines[i].event == EVENT_RUN_FINISHED;
        its->abandoned += model_lines[i].event == EVENT_RUN_ABANDONED;
    }
    return told;
}

static void expect(bool is_so, const struct model_run *run, const char *what)
{
    char slot[TIME_TEXT_MAX];
    if (is_so || ++sum.faults > 20)
        return;
    print_message("# slot %s, run %s, %s: %s (began %d times, %d mandates)\n",
                  time_text_s(run->slot_us, slot), run->run_id, run_outcome_name(run->outcome),
                  what, run->mandate_count, run->starts);
}

static void check(const struct model_run *run, const struct told *told)
{
    bool is_given_up = run->given_up_by[0] != '\0';
    bool is_open = run->outcome == OUTCOME_NONE || run->outcome == OUTCOME_STOPPED;
    expect(run->mandate_count <= RERUN_MOST, run, "begun too often");
    expect(run->mandate_count <= run->starts, run, "begun without a mandate of its own");
    expect(!is_open || is_given_up, run, "interrupted, and not begun again");
    expect(told->won >= run->mandate_count, run, "begun, and claim_won not told");
    expect(told->taken_over + 1 >= run->mandate_count, run, "begun again, and not told");
    expect(told->taken_over <= run->taken_over_count, run, "taken over, says one who did not");
    expect(told->finished <= run->mandate_count, run, "told as ended more often than it began");
    expect(told->given_up == run->is_giving_up_heard, run, "not told once that it is given up");
    expect(!is_given_up || run->starts == RERUN_MOST, run, "given up too early");
    expect(run->outcome != OUTCOME_ABANDONED || is_given_up ||
               told->abandoned == run->is_closing_heard,
           run, "not told once that it is abandoned");
    sum.taken_over += told->taken_over;
    sum.given_up += told->given_up;
    sum.thrice += run->mandate_count == RERUN_MOST;
    sum.abandoned += told->abandoned;
}

static void check_all(void)
{
    struct told *told = read_lines();
    for (size_t i = 0; i < model_run_count; i++) {
        const struct model_run *run = &model_runs[i];
        if (!run->is_undone && run->starts > 0 && run->written_ms < world.now_ms - 30 * MINUTE_MS)
            check(run, &told[world_number_of(run->run_id)]);
    }
    free(told);
}

static void rerun__replicas_killed_and_stopped__an_interrupted_run_begins_again_once(void **unused)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        world_reset(seed);
        model_store_reset();
        model_command_reset();
        model_log_reset();
        replicas_reset();
        live();
        check_all();
    }
    print_message("# %d killed, %d stopped, %d stood still; told: %d taken over, %d given up, %d "
                  "abandoned; %d begun three times\n",
                  sum.killed, sum.stopped, sum.paused, sum.taken_over, sum.given_up, sum.abandoned,
                  sum.thrice);
    assert_true(sum.taken_over > 100 && sum.given_up > 0 && sum.abandoned > 0 && sum.thrice > 0);
    assert_int_equal(sum.faults, 0);
}

static int remove_tables(void **unused)
{
    replicas_done();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rerun__replicas_killed_and_stopped__an_interrupted_run_begins_again_once),
    };
    replicas_rerun = true;
    return cmocka_run_group_tests_name("rerun", tests, NULL, remove_tables);
}
