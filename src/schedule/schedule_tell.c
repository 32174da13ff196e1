/* SPDX-License-Identifier: ISC */
#include "schedule/schedule_tell.h"

#include "base/mem.h"
#include "base/time_text.h"
#include "run/run_tell.h"
#include "schedule/scheduler.h"
#include "schedule/turn.h"

#include <inttypes.h>
#include <string.h>

static struct log *log_of(const struct turn *turn)
{
    return turn->scheduler->spec.log;
}

static struct log_scope scope_of(const struct turn *turn)
{
    struct log_scope scope = LOG_SCOPE_NONE;
    scope.job = turn->job->name;
    scope.key = turn->key;
    scope.slot_us = turn->slot_us;
    return scope;
}

void schedule_tell_claim_failed(struct turn *turn, enum level level, int streak)
{
    const struct error *why = &turn->run.claim.error;
    struct log_scope scope = scope_of(turn);
    scope.streak = streak;
    scope.error = why;
    log_event_at(log_of(turn), level, EVENT_CLAIM_FAILED, &scope,
                 turn->job->start_within_ms == 0
                     ? "not run: %s"
                     : "the store gave no verdict; trying on while the slot may start: %s",
                 why->text);
}

void schedule_tell_missed(struct turn *turn, enum level level)
{
    struct log_scope scope = scope_of(turn);
    scope.outcome = run_outcome_name(OUTCOME_MISSED);
    log_event_at(log_of(turn), level, EVENT_SLOT_MISSED, &scope,
                 "the slot's time to start (start-within) is over and nobody has started it");
}

void schedule_tell_skipped(struct turn *turn)
{
    const struct claim_item *answer = &turn->run.claim.item;
    struct log_scope scope = scope_of(turn);
    scope.holder = answer->other[0] == '\0' ? NULL : answer->other;
    scope.outcome = run_outcome_name(OUTCOME_SKIPPED);
    log_event_at(log_of(turn), answer->is_first_to_tell ? LEVEL_INFO : LEVEL_DEBUG,
                 EVENT_CLAIM_HELD, &scope,
                 "the slot is skipped: a run before it still holds the lease (overlap = skip)");
}

void schedule_tell_not_started(struct turn *turn, const struct error *why)
{
    struct log_scope scope = scope_of(turn);
    scope.error = why;
    if (turn->has_told_why_not)
        return;
    turn->has_told_why_not = true;
    log_event(log_of(turn), EVENT_RUN_FAILED, &scope,
              "not started here, and left to others while it may start: %s", why->text);
}

void schedule_tell_difference(struct turn *turn)
{
    struct log_scope scope = scope_of(turn);
    log_event(log_of(turn), EVENT_SCHEDULE_DIFFERS, &scope,
              "another scheduler has another schedule for this job: give all the same table");
}

void schedule_tell_taken_over(struct turn *turn)
{
    const struct run *run = &turn->run;
    const struct claim_item *answer = &run->claim.item;
    struct log_scope scope = scope_of(turn);
    bool is_known = answer->other[0] != '\0' && answer->abandoned[0] == '\0';
    scope.run_id = turn->interrupted.run_id;
    scope.fence = run->lease.fence;
    scope.holder = is_known ? answer->other : NULL;
    log_event(log_of(turn), EVENT_RUN_TAKEN_OVER, &scope,
              "the run was interrupted%s%s and begins again, for the %" PRId64 ". time of %" PRId64
              " at most",
              is_known ? " under " : "", is_known ? answer->other : "", answer->starts,
              turn->job->max_attempts);
}

void schedule_tell_given_up(struct turn *turn)
{
    struct log_scope scope = scope_of(turn);
    scope.run_id = turn->interrupted.run_id;
    log_event(log_of(turn), EVENT_RUN_GIVEN_UP, &scope,
              "the run was interrupted, has begun %" PRId64
              " times (max-attempts) and is not begun again",
              turn->interrupted.starts);
}

/* ---- the scheduler --------------------------------------------------------------------------- */

static void tell_jobs(struct scheduler *scheduler, enum event event, const char *beginning)
{
    char next[TIME_TEXT_MAX];
    const struct job *job;
    struct log_scope scope = LOG_SCOPE_NONE;
    int64_t next_us = scheduler_next_us(scheduler, &job);
    size_t count = scheduler->roster->count;
    if (count == 0) {
        log_event(scheduler->spec.log, EVENT_TABLE_EMPTY, &scope,
                  "%s: no job is enabled, nothing will run", beginning);
        return;
    }
    if (next_us == NO_INSTANT)
        log_event(scheduler->spec.log, event, &scope, "%s: %zu job%s", beginning, count,
                  count == 1 ? "" : "s");
    else
        log_event(scheduler->spec.log, event, &scope, "%s: %zu job%s, the next is %s at %s",
                  beginning, count, count == 1 ? "" : "s", job->name, time_text_s(next_us, next));
}

void schedule_tell_ready(struct scheduler *scheduler)
{
    tell_jobs(scheduler, EVENT_SCHEDULER_READY, "ready");
}

void schedule_tell_reloaded(struct scheduler *scheduler)
{
    tell_jobs(scheduler, EVENT_TABLE_RELOADED, "the job table was read again");
}

void schedule_tell_reload_failed(struct scheduler *scheduler, const struct ini_faults *faults)
{
    struct log_scope scope = LOG_SCOPE_NONE;
    for (size_t i = 0; i < faults->count; i++) {
        MEM_AUTOFREE char *sentence = ini_faults_sentence(faults, i);
        log_event(scheduler->spec.log, EVENT_RELOAD_FAILED, &scope,
                  "the job table stays as it was: %s", sentence);
    }
}

void schedule_tell_backlog_cut(struct scheduler *scheduler, const char *job)
{
    struct log_scope scope = LOG_SCOPE_NONE;
    scope.job = job;
    log_event(scheduler->spec.log, EVENT_SLOT_MISSED, &scope,
              "more slots than the newest %d have passed while no scheduler was there; the older "
              "ones are not told one by one",
              SLOTS_BACKLOG_MOST);
}

void schedule_tell_clock_stepped(struct scheduler *scheduler, int64_t by_us)
{
    char by[TIME_TEXT_MAX];
    struct log_scope scope = LOG_SCOPE_NONE;
    time_text_span((by_us < 0 ? -by_us : by_us) / 1000, by);
    log_event(scheduler->spec.log, EVENT_CLOCK_STEPPED, &scope,
              "this host's clock was set %s by %s", by_us < 0 ? "back" : "forward", by);
}

void schedule_tell_clock_ahead(struct scheduler *scheduler, int64_t ahead_us)
{
    char ahead[TIME_TEXT_MAX];
    struct log_scope scope = LOG_SCOPE_NONE;
    time_text_span(ahead_us / 1000, ahead);
    log_event(scheduler->spec.log, EVENT_CLOCK_AHEAD, &scope,
              "this host's clock is %s ahead of the store's; slots are awaited by the store's; set "
              "the clock",
              ahead);
}

void schedule_tell_store_lost(struct scheduler *scheduler, const struct error *why)
{
    struct log_scope scope = LOG_SCOPE_NONE;
    scope.error = why;
    log_event(scheduler->spec.log, EVENT_STORE_LOST, &scope, "the store is lost: %s", why->text);
}

void schedule_tell_store_down(struct scheduler *scheduler, const struct error *why, int64_t ms)
{
    char span[TIME_TEXT_MAX];
    struct log_scope scope = LOG_SCOPE_NONE;
    scope.error = why;
    scope.took_ms = ms;
    log_event(scheduler->spec.log, EVENT_STORE_DOWN, &scope, "the store has been gone for %s: %s",
              time_text_span(ms, span), why->text);
}

void schedule_tell_store_restored(struct scheduler *scheduler, int64_t ms, int late_count,
                                  int missed_count)
{
    char span[TIME_TEXT_MAX];
    struct log_scope scope = LOG_SCOPE_NONE;
    scope.took_ms = ms;
    log_event(scheduler->spec.log, EVENT_STORE_RESTORED, &scope,
              "the store is back after %s: %d slot%s came meanwhile, and the time of %d of them to "
              "start is over",
              time_text_span(ms, span), late_count, late_count == 1 ? "" : "s", missed_count);
}

void schedule_tell_store_note(struct scheduler *scheduler, bool is_grave, const char *text)
{
    struct log_scope scope = LOG_SCOPE_NONE;
    log_event_at(scheduler->spec.log, is_grave ? LEVEL_ERROR : LEVEL_WARN, EVENT_STORE_NOTE, &scope,
                 "%s", text);
}

void schedule_tell_stopping(struct scheduler *scheduler, int number, int command_count)
{
    struct log_scope scope = LOG_SCOPE_NONE;
    log_event(scheduler->spec.log, EVENT_SCHEDULER_STOPPING, &scope,
              "SIG%s came: nothing more is started; %d command%s run%s", sigabbrev_np(number),
              command_count, command_count == 1 ? "" : "s", command_count == 1 ? "s" : "");
}

void schedule_tell_refused(struct scheduler *scheduler, const struct error *why)
{
    struct log_scope scope = LOG_SCOPE_NONE;
    scope.error = why;
    log_event(scheduler->spec.log, EVENT_SCHEDULER_REFUSED, &scope, "nothing is scheduled: %s",
              why->text);
}

void schedule_tell_upkeep_failed(struct scheduler *scheduler, const struct error *why)
{
    struct log_scope scope = LOG_SCOPE_NONE;
    scope.error = why;
    log_event(scheduler->spec.log, EVENT_PURGE_FAILED, &scope, "old rows stay for now: %s",
              why->text);
}
