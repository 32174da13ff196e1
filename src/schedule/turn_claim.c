/* SPDX-License-Identifier: ISC */
#include "schedule/turn_claim.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/now.h"
#include "run/run_tell.h"
#include "schedule/past.h"
#include "schedule/schedule_tell.h"
#include "schedule/scheduler.h"

#include <string.h>

#define FAR_AHEAD_MS    60000
#define AFTER_WINDOW_MS 1000  /* the store's clock may be behind ours: it says when it is over */
#define JUDGE_MS        10000 /* for a slot whose window is over: only its story is asked for */
#define ONCE_AGAIN_MS   60000 /* @once: after a failure, doubling up to an hour */
#define ONCE_MOST_MS    3600000

char *turn_claim_key(const struct entry *entry)
{
    char host[IDENTITY_HOLDER_MAX];
    if (entry->slots.cron.kind != CRON_REBOOT)
        return mem_strdup(entry->job->key);
    identity_host(host, sizeof host);
    return mem_printf("%s@%s", entry->job->key, host);
}

/* ---- the question --------------------------------------------------------------------------- */

int64_t turn_claim_window_ms(const struct turn *turn)
{
    const struct slots *slots = &turn->entry->slots;
    int64_t next = slots_next(slots, turn->slot_us);
    bool is_latest = next == NO_INSTANT || next > scheduler_now_us(turn->scheduler);
    if (turn->job->misfire == JOB_MISFIRE_ALL ||
        (turn->job->misfire == JOB_MISFIRE_LATEST && is_latest))
        return -1;
    return slots_window_ms(slots, turn->slot_us, turn->job->start_within_ms);
}

/* One attempt with start-within = 0; else as long as the window is open. */
static int64_t give_up_ms(const struct turn *turn)
{
    if (turn->job->start_within_ms == 0)
        return 0;
    if (turn->end_us == INT64_MAX)
        return slots_window_ms(&turn->entry->slots, turn->slot_us, turn->job->start_within_ms);
    int64_t left_ms = (turn->end_us - scheduler_now_us(turn->scheduler)) / 1000 + AFTER_WINDOW_MS;
    return left_ms < JUDGE_MS && turn->is_last ? JUDGE_MS : left_ms;
}

static bool is_skipping(const struct turn *turn)
{
    return turn->slot_us != NO_INSTANT && turn->job->overlap == JOB_OVERLAP_SKIP &&
           turn->job->misfire != JOB_MISFIRE_ALL && !turn->entry->shares_key;
}

bool turn_claim_may_wait(const struct turn *turn)
{
    bool is_once = turn->entry->slots.cron.kind == CRON_ONCE; /* it has times of its own */
    return !is_once && turn->job->start_within_ms != 0;
}

/* A run that is cut short may be taken over, unless it has begun often enough. */
static bool will_be_rerun(const struct turn *turn)
{
    return turn->job->if_interrupted == JOB_IF_INTERRUPTED_RERUN && turn->slot_us != NO_INSTANT &&
           turn->interrupted.starts + 1 < turn->job->max_attempts;
}

static struct claim_spec takeover_spec(const struct turn *turn)
{
    return (struct claim_spec){
        .hold_ms = turn->job->hold_at_least_ms,
        .slot_window_ms = -1,
        .is_rerun = true,
        .interrupted_fence = turn->interrupted.fence,
        .max_starts = turn->job->max_attempts,
        .give_up_ms = JUDGE_MS,
    };
}

static const struct run_listener listener;

void turn_claim_fill(struct turn *turn, struct run_spec *ret_spec)
{
    struct scheduler *scheduler = turn->scheduler;
    const struct job *job = turn->job;
    bool is_stopped_worse = !entry_repeats_within_minute(turn->entry) && !will_be_rerun(turn);
    bool has_slot = turn->slot_us != NO_INSTANT;
    bool has_past = has_slot && past_write(turn->entry, turn->slot_us, turn->past);
    *ret_spec = (struct run_spec){
        .job = job,
        .store = scheduler->spec.store,
        .log = scheduler->spec.log,
        .plan = &turn->plan,
        .signals = scheduler->spec.signals,
        .key = turn->key,
        .slot_us = turn->slot_us,
        .claim =
            {
                .hold_ms = job->hold_at_least_ms,
                .slot_window_ms = has_slot ? turn_claim_window_ms(turn) : 0,
                .is_once = turn->entry->slots.cron.kind == CRON_ONCE,
                .is_rerun = has_slot && job->if_interrupted == JOB_IF_INTERRUPTED_RERUN,
                .is_skipping = is_skipping(turn),
                .fingerprint = has_past ? turn->past : NULL,
                .is_steadfast = job->start_within_ms != 0,
                .far_ahead_ms = FAR_AHEAD_MS,
                .give_up_ms = give_up_ms(turn),
            },
        .levels = {LEVEL_INFO, LEVEL_ERROR, is_stopped_worse ? LEVEL_ERROR : LEVEL_WARN},
        .hooks = &scheduler->hooks,
        .claims = scheduler->claims,
        .renewals = scheduler->renewals,
        .is_guard_late = !store_url_is_local(scheduler->spec.store->url),
        .listener = &listener,
        .owner = turn,
    };
    if (!turn_takes_over(turn))
        return;
    ret_spec->run_id = turn->interrupted.run_id;
    ret_spec->claim = takeover_spec(turn);
}

/* ---- the answer ----------------------------------------------------------------------------- */

static void count_failure(struct turn *turn)
{
    struct entry *entry = turn->entry;
    bool is_refused = turn->scheduler->recall.refused.kind != ERROR_NONE; /* told as that */
    if (turn->has_told_failure || entry == NULL || is_refused)
        return;
    turn->has_told_failure = true;
    enum level level =
        streak_fail(&entry->streak, entry_repeats_within_minute(entry), turn->job->claim_failure);
    schedule_tell_claim_failed(turn, level, entry->streak.count);
}

static void on_claim_failed(struct run *run)
{
    struct turn *turn = run->spec.owner;
    if (turn_takes_over(turn))
        return; /* the outage is told, and the run waits */
    count_failure(turn);
    outage_note_late(&turn->scheduler->outage);
}

/* The store was not to be had as long as the window was open: what became of the slot is asked
 * when it is back. */
static void on_failed(struct turn *turn)
{
    count_failure(turn);
    if (turn->slot_us == NO_INSTANT || turn->entry == NULL)
        return;
    turn->entry->is_silent = true;
    if (turn->job->start_within_ms != 0)
        entry_add_late(turn->entry, (struct owed_slot){turn->slot_us, turn->has_told_failure});
}

/* claim_failed stands for it where the job comes again within the minute. */
static enum level level_of_missed(struct turn *turn)
{
    struct entry *entry = turn->entry;
    bool is_fast = entry != NULL && entry_repeats_within_minute(entry);
    if (!turn->run.claim.item.is_first_to_tell || (is_fast && turn->has_told_failure))
        return LEVEL_DEBUG;
    return entry == NULL ? LEVEL_ERROR
                         : streak_fail(&entry->streak, is_fast, turn->job->claim_failure);
}

static void on_missed(struct turn *turn)
{
    schedule_tell_missed(turn, level_of_missed(turn));
    /* Over there, and not by what this clock is thought to be ahead: it is so no more. */
    bool is_thought_open = scheduler_now_us(turn->scheduler) < turn->end_us;
    if (turn->scheduler->ahead_us != 0 && is_thought_open)
        scheduler_note_ahead(turn->scheduler, 0);
}

static void on_early(struct turn *turn)
{
    int64_t store_us = turn->slot_us - turn->run.claim.item.wait_ms * 1000;
    /* It had come there, and has not now: what was known of it may have been undone. */
    if (turn->entry != NULL && turn->entry->known_us >= turn->slot_us)
        turn->entry->known_us = turn->slot_us - 1;
    scheduler_note_ahead(turn->scheduler, now_wall_us() - store_us);
}

static void on_won(struct turn *turn)
{
    struct entry *entry = turn->entry;
    const char *before = turn->run.claim.item.previous_fingerprint;
    bool is_same = before[0] == '\0' || past_is_same(before, turn->past);
    run_tell_claim(&turn->run, CLAIM_RESULT_WON);
    if (entry == NULL || turn->run.spec.claim.fingerprint == NULL)
        return;
    if (!is_same && entry->has_won && !entry->has_told_difference) {
        entry->has_told_difference = true;
        schedule_tell_difference(turn);
    }
    entry->has_told_difference &= !is_same;
    entry->has_won = true;
}

static void on_held(struct turn *turn)
{
    if (!turn->has_told_held)
        run_tell_claim(&turn->run, CLAIM_RESULT_HELD);
    turn->has_told_held = true;
}

static void on_done(struct turn *turn)
{
    if (!turn->has_told_done)
        run_tell_claim(&turn->run, CLAIM_RESULT_DONE);
    turn->has_told_done = true;
}

static void hear(struct turn *turn)
{
    switch (turn->result) {
    case CLAIM_RESULT_WON:
        on_won(turn);
        return;
    case CLAIM_RESULT_HELD:
        on_held(turn);
        return;
    case CLAIM_RESULT_DONE:
        on_done(turn);
        return;
    case CLAIM_RESULT_SKIPPED:
        schedule_tell_skipped(turn);
        return;
    case CLAIM_RESULT_MISSED:
        on_missed(turn);
        return;
    case CLAIM_RESULT_EARLY:
        on_early(turn);
        return;
    case CLAIM_RESULT_FAILED:
        on_failed(turn);
        return;
    case CLAIM_RESULT_CANCELLED:
        run_tell_claim(&turn->run, CLAIM_RESULT_CANCELLED);
        return;
    }
}

/* Without a mandate nothing has changed, and the run is asked for again. */
static void hear_takeover(struct turn *turn)
{
    if (turn->result == CLAIM_RESULT_WON) {
        on_won(turn);
        schedule_tell_taken_over(turn);
    } else if (turn->result == CLAIM_RESULT_DONE && turn->run.claim.item.is_first_to_tell) {
        schedule_tell_given_up(turn);
    } else if (turn->result == CLAIM_RESULT_CANCELLED) { /* it may have closed another run */
        run_tell_claim(&turn->run, CLAIM_RESULT_CANCELLED);
    }
}

/* The slot's time has come, says the store: so it has for those before it. */
static void note_known(struct turn *turn)
{
    struct entry *entry = turn->entry;
    if (entry == NULL || turn->slot_us == NO_INSTANT)
        return;
    if (turn->slot_us > entry->known_us)
        entry->known_us = turn->slot_us;
    if (entry->is_cut)
        schedule_tell_backlog_cut(turn->scheduler, turn->job->name);
    entry->is_cut = false;
}

static void on_claimed(struct run *run, enum claim_result result)
{
    struct turn *turn = run->spec.owner;
    bool is_failure = result == CLAIM_RESULT_FAILED || result == CLAIM_RESULT_MISSED ||
                      result == CLAIM_RESULT_EARLY;
    turn->result = result;
    turn->has_claimed = true;
    if (turn_takes_over(turn)) {
        hear_takeover(turn);
        return;
    }
    if (turn->entry != NULL && result != CLAIM_RESULT_CANCELLED)
        turn->entry->is_silent = false;
    if (result != CLAIM_RESULT_FAILED && result != CLAIM_RESULT_EARLY &&
        result != CLAIM_RESULT_CANCELLED)
        note_known(turn);
    hear(turn);
    if (!is_failure && turn->entry != NULL)
        streak_restart(&turn->entry->streak);
}

static const struct run_listener listener = {.claim_failed = on_claim_failed,
                                             .claimed = on_claimed};

/* ---- jobs without slots --------------------------------------------------------------------- */

static int64_t once_delay_ms(const struct entry *entry)
{
    int64_t delay = ONCE_AGAIN_MS;
    for (int i = 1; i < entry->failure_count && delay < ONCE_MOST_MS; i++)
        delay *= 2;
    return delay < ONCE_MOST_MS ? delay : ONCE_MOST_MS;
}

void turn_claim_note_end(struct turn *turn)
{
    struct entry *entry = turn->entry;
    if (entry == NULL || turn->slot_us != NO_INSTANT)
        return;
    bool has_run = turn->result == CLAIM_RESULT_WON && !turn->run.is_undone;
    bool has_succeeded = has_run && turn->run.record.outcome == OUTCOME_SUCCEEDED;
    if (entry->slots.cron.kind == CRON_REBOOT) {
        entry->has_settled = has_run || turn->result != CLAIM_RESULT_HELD;
        return;
    }
    entry->has_settled = has_succeeded || turn->result == CLAIM_RESULT_DONE;
    entry->failure_count = has_run ? entry->failure_count + 1 : entry->failure_count;
    entry->again_us = scheduler_now_us(turn->scheduler) + once_delay_ms(entry) * 1000;
}
