/* SPDX-License-Identifier: ISC */
#include "schedule/scheduler.h"

#include "base/list.h"
#include "base/now.h"
#include "schedule/schedule_tell.h"
#include "schedule/turn.h"

#include <signal.h>

#define STEP_LEAST_US   1000000  /* a smaller step of the clock is not worth a line */
#define AHEAD_CHANGE_US 60000000 /* nor is a smaller change of what it is ahead */
#define LONGEST_WAIT_US 86400000000

int64_t scheduler_now_us(const struct scheduler *scheduler)
{
    return now_wall_us() - scheduler->ahead_us;
}

/* ---- when a job is due ----------------------------------------------------------------------- */

static int64_t next_slot_us(const struct entry *entry)
{
    return slots_next(&entry->slots, entry->base_us);
}

static int64_t due_us(const struct entry *entry)
{
    if (!entry_has_slots(entry))
        return entry->has_settled || entry->turn_count > 0 ? NO_INSTANT : entry->again_us;
    if (entry->is_turn_owed)
        return NO_INSTANT;
    int64_t slot_us = next_slot_us(entry);
    if (slot_us == NO_INSTANT)
        return NO_INSTANT;
    const struct job *job = entry->job;
    return slot_us + cron_jitter_ms(job->key, slot_us, job->jitter_ms) * 1000;
}

static void put(struct scheduler *scheduler, struct entry *entry)
{
    int64_t at_us = due_us(entry);
    if (at_us != NO_INSTANT)
        due_put(&scheduler->due, at_us, (size_t)(entry - scheduler->roster->entries));
}

static void arm(struct scheduler *scheduler)
{
    struct due_item head;
    if (scheduler->shutdown.is_begun || !due_head(&scheduler->due, &head)) {
        alarm_stop(&scheduler->wake);
        return;
    }
    int64_t left_us = head.at_us - scheduler_now_us(scheduler);
    left_us = left_us < 0 ? 0 : left_us > LONGEST_WAIT_US ? LONGEST_WAIT_US : left_us;
    alarm_set_in(&scheduler->wake, (left_us + 999) / 1000);
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Slots of the past have their turns one by one, while no other slot has its turn. */
static bool begin_late(struct scheduler *scheduler, struct entry *entry)
{
    if (entry->late_count == 0 || entry->is_silent || entry->turn_count > 0)
        return false;
    turn_begin(scheduler, entry, entry_take_late(entry));
    return true;
}

/* With misfire = all those of the past come first; else a slot that comes while a run goes on is
 * to be skipped then, not to wait until its window is over. */
static bool must_wait(const struct entry *entry)
{
    bool is_orderly = entry->job->overlap == JOB_OVERLAP_WAIT || entry->shares_key;
    bool has_past = entry->late_count > 0 && !entry->is_silent;
    bool is_past_first = is_orderly || entry->job->misfire == JOB_MISFIRE_ALL;
    return is_past_first && (entry->turn_count > 0 || has_past);
}

/* Several at once: the machine slept, the process stood still, the clock was set forward. */
static void note_backlog(struct scheduler *scheduler, struct entry *entry, int64_t now_us)
{
    int64_t slots_us[SLOTS_BACKLOG_MOST];
    bool is_cut;
    int count = slots_backlog(&entry->slots, entry->base_us, now_us, slots_us, &is_cut);
    for (int i = 0; i < count; i++)
        entry_add_late(entry, (struct owed_slot){.slot_us = slots_us[i]});
    entry->is_cut |= is_cut;
    entry->base_us = slots_us[count - 1];
    begin_late(scheduler, entry);
}

static void begin_due(struct scheduler *scheduler, struct entry *entry, int64_t now_us)
{
    int64_t slot_us = next_slot_us(entry);
    int64_t after_us = slots_next(&entry->slots, slot_us);
    if (must_wait(entry)) {
        entry->is_turn_owed = true;
        begin_late(scheduler, entry);
        return;
    }
    if (after_us != NO_INSTANT && after_us <= now_us) {
        note_backlog(scheduler, entry, now_us);
    } else {
        entry->base_us = slot_us;
        turn_begin(scheduler, entry, (struct owed_slot){.slot_us = slot_us});
    }
    put(scheduler, entry);
}

void scheduler_on_wake(struct alarm *alarm)
{
    struct scheduler *scheduler = LIST_OBJECT(alarm, struct scheduler, wake);
    struct due_item head;
    int64_t now_us = scheduler_now_us(scheduler);
    while (due_head(&scheduler->due, &head) && head.at_us <= now_us) {
        struct entry *entry = &scheduler->roster->entries[head.job];
        due_drop_head(&scheduler->due);
        if (entry_has_slots(entry))
            begin_due(scheduler, entry, now_us);
        else
            turn_begin(scheduler, entry, (struct owed_slot){.slot_us = NO_INSTANT});
    }
    arm(scheduler);
}

void scheduler_turn_over(struct scheduler *scheduler, struct entry *entry)
{
    shutdown_note_turn(&scheduler->shutdown);
    if (scheduler->shutdown.is_begun || entry == NULL)
        return;
    if (!entry_has_slots(entry)) {
        put(scheduler, entry);
    } else if (!begin_late(scheduler, entry) && entry->is_turn_owed && !must_wait(entry)) {
        entry->is_turn_owed = false;
        put(scheduler, entry);
    }
    arm(scheduler);
}

/* ---- everything anew ------------------------------------------------------------------------- */

/* After a step back of the clock, slots of which the store has told are not tried again; those that
 * only seemed to have come are, and none between is left out. */
static void mend_base(struct entry *entry, int64_t now_us)
{
    int64_t base_us = entry->tried_us <= now_us ? entry->tried_us : entry->known_us;
    if (base_us == NO_INSTANT)
        base_us = entry->from_us < now_us ? entry->from_us : now_us;
    if (entry->base_us > now_us)
        entry_go_back(entry, base_us);
    if (entry->again_us > now_us + SLOTS_WINDOW_MOST_MS * 1000)
        entry->again_us = now_us;
}

void scheduler_look_again(struct scheduler *scheduler)
{
    int64_t now_us = scheduler_now_us(scheduler);
    if (scheduler->shutdown.is_begun)
        return;
    due_clear(&scheduler->due);
    for (size_t i = 0; i < scheduler->roster->count; i++) {
        struct entry *entry = &scheduler->roster->entries[i];
        mend_base(entry, now_us);
        entry->is_silent = false;
        begin_late(scheduler, entry);
        if (entry->is_turn_owed && !must_wait(entry))
            entry->is_turn_owed = false;
        put(scheduler, entry);
    }
    arm(scheduler);
}

static void on_clock_stepped(struct clock_watch *watch, int64_t by_us)
{
    struct scheduler *scheduler = LIST_OBJECT(watch, struct scheduler, clock);
    if (by_us >= STEP_LEAST_US || by_us <= -STEP_LEAST_US)
        schedule_tell_clock_stepped(scheduler, by_us);
    scheduler->ahead_us = 0; /* perhaps no more: the next answer tells */
    scheduler_look_again(scheduler);
}

void scheduler_watch_clock(struct scheduler *scheduler)
{
    clock_watch_open(&scheduler->clock, scheduler->loop, on_clock_stepped);
}

void scheduler_note_ahead(struct scheduler *scheduler, int64_t ahead_us)
{
    int64_t change_us = ahead_us - scheduler->ahead_us;
    if (change_us > -AHEAD_CHANGE_US && change_us < AHEAD_CHANGE_US)
        return;
    scheduler->ahead_us = ahead_us;
    if (scheduler->recall.start_us > scheduler_now_us(scheduler))
        recall_go_back(&scheduler->recall, ahead_us);
    if (ahead_us > 0)
        schedule_tell_clock_ahead(scheduler, ahead_us);
    scheduler_look_again(scheduler);
}

int64_t scheduler_next_us(const struct scheduler *scheduler, const struct job **ret_job)
{
    struct due_item head;
    *ret_job = NULL;
    if (!due_head(&scheduler->due, &head))
        return NO_INSTANT;
    const struct entry *entry = &scheduler->roster->entries[head.job];
    *ret_job = entry->job;
    return entry_has_slots(entry) ? next_slot_us(entry) : head.at_us;
}

void scheduler_signal(struct scheduler *scheduler, int number)
{
    switch (number) {
    case SIGINT:
    case SIGTERM:
    case SIGQUIT:
        shutdown_signal(&scheduler->shutdown, number);
        return;
    case SIGHUP:
        reload_begin(&scheduler->reload);
        return;
    case SIGCHLD:
        command_reap_strangers();
        return;
    default:
        return;
    }
}
