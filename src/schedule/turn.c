/* SPDX-License-Identifier: ISC */
#include "schedule/turn.h"

#include "base/mem.h"
#include "base/now.h"
#include "schedule/schedule_tell.h"
#include "schedule/scheduler.h"
#include "schedule/turn_claim.h"

#include <stdlib.h>

#define POLL_MS        1000 /* a key that is held is asked for no oftener */
#define SPAWN_AGAIN_MS 1000
#define PLAN_AGAIN_MS  10000
#define LOOK_AGAIN_MS  5000 /* after a slot was found started: its winner may undo it */
#define LOOK_LEAST_MS  1500 /* of a window that is left; a shorter one is over too soon */

/* ---- the end -------------------------------------------------------------------------------- */

static void on_closed(struct handles *handles)
{
    struct turn *turn = LIST_OBJECT(handles, struct turn, handles);
    struct scheduler *scheduler = turn->scheduler;
    struct entry *entry = turn->entry;
    list_remove(&turn->node);
    roster_release(turn->roster);
    free(turn->key);
    free(turn);
    scheduler_turn_over(scheduler, entry);
}

static void end(struct turn *turn)
{
    turn->state = TURN_OVER;
    if (turn->entry != NULL)
        turn->entry->turn_count--;
    turn->handles.closed = on_closed;
    places_leave(&turn->scheduler->places, &turn->place);
    alarm_close(&turn->again, &turn->handles);
}

/* ---- again ---------------------------------------------------------------------------------- */

static bool is_window_open(const struct turn *turn)
{
    return scheduler_now_us(turn->scheduler) < turn->end_us;
}

static void come_again(struct turn *turn, int64_t delay_ms)
{
    turn->state = TURN_RESTING;
    places_leave(&turn->scheduler->places, &turn->place);
    alarm_set_in(&turn->again, delay_ms);
}

static void wait_for_place(struct turn *turn)
{
    turn->state = TURN_WAITING;
    places_ask(&turn->scheduler->places, &turn->place);
}

static void on_again(struct alarm *alarm)
{
    wait_for_place(LIST_OBJECT(alarm, struct turn, again));
}

/* After the window's end it comes once more: the store then says what became of the slot. */
static bool may_come_again(const struct turn *turn)
{
    bool is_over = !is_window_open(turn) && turn->claim_count > 0 && turn->is_last;
    return !turn->is_called_off && turn->entry != NULL && !is_over;
}

/* ---- the run -------------------------------------------------------------------------------- */

/* Of the slot's own window: with misfire = all the turn has no end. */
static int64_t left_ms(const struct turn *turn)
{
    const struct slots *slots = &turn->entry->slots;
    int64_t window_ms = slots_window_ms(slots, turn->slot_us, turn->job->start_within_ms);
    return (turn->slot_us - scheduler_now_us(turn->scheduler)) / 1000 + window_ms;
}

/* What is asked for after its window was mostly started long ago, and there may be many of those,
 * one after the other. */
static bool may_look_again(const struct turn *turn)
{
    return turn->slot_us != NO_INSTANT && !turn->has_looked_again && turn->run.spec.is_guard_late &&
           left_ms(turn) >= LOOK_LEAST_MS;
}

static void look_again(struct turn *turn)
{
    int64_t half_ms = left_ms(turn) / 2;
    turn->has_looked_again = true;
    come_again(turn, half_ms < LOOK_AGAIN_MS ? half_ms : LOOK_AGAIN_MS);
}

static void decide(struct turn *turn)
{
    bool is_undone = turn->result == CLAIM_RESULT_WON && turn->run.is_undone;
    if (is_undone)
        schedule_tell_not_started(turn, &turn->run.why_not_started);
    if (!may_come_again(turn)) {
        end(turn);
    } else if (is_undone) {
        come_again(turn, SPAWN_AGAIN_MS);
    } else if (turn->result == CLAIM_RESULT_HELD && turn_claim_may_wait(turn)) {
        come_again(turn, POLL_MS);
    } else if (turn->result == CLAIM_RESULT_DONE && may_look_again(turn)) {
        look_again(turn);
    } else {
        end(turn);
    }
}

static void on_run_closed(struct handles *handles)
{
    struct run *run = LIST_OBJECT(handles, struct run, handles);
    struct turn *turn = LIST_OBJECT(run, struct turn, run);
    command_plan_done(&turn->plan);
    decide(turn);
}

static void on_run_finished(struct run *run)
{
    turn_claim_note_end(LIST_OBJECT(run, struct turn, run));
    run_close(run, on_run_closed);
}

static void start_run(struct turn *turn)
{
    struct run_spec spec;
    struct error why;
    turn_claim_fill(turn, &spec);
    turn->state = TURN_RUNNING;
    turn->has_claimed = false;
    turn->is_last = !is_window_open(turn);
    turn->claim_count++;
    if (run_start(&turn->run, turn->scheduler->loop, &spec, on_run_finished, &why))
        return;
    command_plan_done(&turn->plan);
    schedule_tell_not_started(turn, &why);
    if (may_come_again(turn))
        come_again(turn, SPAWN_AGAIN_MS);
    else
        end(turn);
}

/* ---- the plan ------------------------------------------------------------------------------- */

/* Without a plan nobody can start it here; another host may be able to. */
static void on_planned(void *owner, const struct command_plan *plan, const struct error *why)
{
    struct turn *turn = owner;
    if (plan != NULL)
        turn->plan = *plan;
    if (turn->is_called_off) {
        if (plan != NULL)
            command_plan_done(&turn->plan);
        end(turn);
    } else if (plan != NULL) {
        start_run(turn);
    } else {
        schedule_tell_not_started(turn, why);
        if (is_window_open(turn) && turn->entry != NULL)
            come_again(turn, PLAN_AGAIN_MS);
        else
            end(turn);
    }
}

static void plan(struct turn *turn)
{
    struct command_plan made;
    struct error why;
    char *const *environment = turn->scheduler->spec.environment;
    turn->state = TURN_PLANNING;
    if (!command_plan_is_at_hand(turn->job)) {
        command_plan_ask(turn->scheduler->loop, turn->job, environment, on_planned, turn);
        return;
    }
    bool is_made = command_plan_make(&made, turn->job, NULL, environment, &why);
    on_planned(turn, is_made ? &made : NULL, &why);
}

static void on_place_given(struct place *place)
{
    plan(LIST_OBJECT(place, struct turn, place));
}

/* ---- the turn itself ------------------------------------------------------------------------ */

static int64_t end_of_window_us(const struct turn *turn)
{
    if (turn->slot_us == NO_INSTANT)
        return scheduler_now_us(turn->scheduler) + SLOTS_WINDOW_MOST_MS * 1000;
    int64_t window_ms = turn_claim_window_ms(turn);
    return window_ms < 0 ? INT64_MAX : turn->slot_us + window_ms * 1000;
}

static struct turn *make(struct scheduler *scheduler, struct entry *entry, struct owed_slot owed)
{
    struct turn *turn = mem_alloc(sizeof *turn);
    turn->scheduler = scheduler;
    turn->roster = roster_use(scheduler->roster);
    turn->entry = entry;
    turn->job = entry->job;
    turn->slot_us = owed.slot_us;
    turn->has_told_failure = owed.is_told;
    turn->key = turn_claim_key(entry);
    turn->place = (struct place){.slot_us = owed.slot_us, .given = on_place_given};
    alarm_init(&turn->again, scheduler->loop, on_again);
    list_push(&scheduler->turns, &turn->node);
    entry->turn_count++;
    if (owed.slot_us != NO_INSTANT && owed.slot_us > entry->tried_us)
        entry->tried_us = owed.slot_us;
    return turn;
}

void turn_begin(struct scheduler *scheduler, struct entry *entry, struct owed_slot owed)
{
    struct turn *turn = make(scheduler, entry, owed);
    if (entry->turn_count == 1 || owed.slot_us < entry->oldest_turn_us)
        entry->oldest_turn_us = owed.slot_us;
    turn->end_us = end_of_window_us(turn);
    wait_for_place(turn);
}

void turn_begin_takeover(struct scheduler *scheduler, struct entry *entry,
                         const struct interrupted_run *interrupted)
{
    struct turn *turn = make(scheduler, entry, (struct owed_slot){.slot_us = interrupted->slot_us});
    turn->interrupted = *interrupted;
    turn->end_us = scheduler_now_us(scheduler); /* it comes once */
    wait_for_place(turn);
}

bool turn_takes_over(const struct turn *turn)
{
    return turn->interrupted.run_id[0] != '\0';
}

void turn_call_off(struct turn *turn)
{
    turn->is_called_off = true;
    if (turn->state == TURN_WAITING || turn->state == TURN_RESTING)
        end(turn);
    else if (turn->state == TURN_RUNNING && !turn_has_command(turn))
        run_stop(&turn->run, 0);
}

bool turn_has_command(const struct turn *turn)
{
    return turn->state == TURN_RUNNING &&
           (run_has_command(&turn->run) || turn->run.state == RUN_PAUSING);
}
