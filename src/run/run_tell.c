/* SPDX-License-Identifier: ISC */
#include "run/run_tell.h"

#include "base/exit_code.h"
#include "base/time_text.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define CLOCK_AHEAD_MS 60000

static struct log_scope scope_of(const struct run *run)
{
    struct log_scope scope = LOG_SCOPE_NONE;
    scope.job = run->spec.job->name;
    scope.key = run->lease.key;
    scope.slot_us = run->lease.slot_us;
    if (run->lease.fence != 0) {
        scope.fence = run->lease.fence == FENCE_ABSENT ? 0 : run->lease.fence;
        scope.run_id = run->lease.run_id;
    }
    return scope;
}

static void tell_abandoned(struct run *run)
{
    struct log_scope scope = scope_of(run);
    if (run->claim.item.abandoned[0] == '\0')
        return;
    scope.run_id = run->claim.item.abandoned;
    scope.fence = run->claim.item.abandoned_fence;
    scope.holder = run->claim.item.other;
    scope.outcome = run_outcome_name(OUTCOME_ABANDONED);
    log_event(run->spec.log, EVENT_RUN_ABANDONED, &scope,
              "the run before this one (%s, by %s) never told its end: its leaserun died; it is "
              "recorded as abandoned",
              run->claim.item.abandoned, run->claim.item.other);
}

static void tell_won(struct run *run)
{
    struct log_scope scope = scope_of(run);
    if (run->lease.fence == FENCE_ABSENT)
        log_event_at(run->spec.log, run->spec.levels.usual, EVENT_CLAIM_WON, &scope,
                     "the lease is ours");
    else
        log_event_at(run->spec.log, run->spec.levels.usual, EVENT_CLAIM_WON, &scope,
                     "the lease is ours, fence %" PRId64, run->lease.fence);
    tell_abandoned(run);
}

static void tell_held(struct run *run)
{
    char left[TIME_TEXT_MAX];
    const struct claim_item *answer = &run->claim.item;
    struct log_scope scope = scope_of(run);
    scope.holder = answer->other;
    time_text_span(answer->wait_ms, left);
    if (answer->is_on_hold)
        log_event(run->spec.log, EVENT_CLAIM_HELD, &scope,
                  "not run: %s has run it, and keeps the key for %s more (--hold-at-least)",
                  answer->other, left);
    else
        log_event(run->spec.log, EVENT_CLAIM_HELD, &scope,
                  "not run: %s holds the lease, for %s more unless it renews", answer->other, left);
}

static void tell_claim_failed(struct run *run)
{
    struct log_scope scope = scope_of(run);
    scope.error = &run->claim.error;
    log_event(run->spec.log, EVENT_CLAIM_FAILED, &scope, "not run: %s", run->claim.error.text);
}

void run_tell_claim(struct run *run, enum claim_result result)
{
    struct log_scope scope = scope_of(run);
    switch (result) {
    case CLAIM_RESULT_WON:
        tell_won(run);
        return;
    case CLAIM_RESULT_HELD:
        tell_held(run);
        return;
    case CLAIM_RESULT_DONE:
        log_event(run->spec.log, EVENT_SLOT_DONE, &scope, "not run: %s",
                  run->spec.job->is_once ? "it has succeeded once"
                                         : "another host has started this slot");
        return;
    case CLAIM_RESULT_MISSED:
    case CLAIM_RESULT_SKIPPED:
        log_event_at(run->spec.log, run->claim.item.is_first_to_tell ? LEVEL_ERROR : LEVEL_INFO,
                     EVENT_SLOT_MISSED, &scope,
                     "not run: by the store's clock the slot's window is over");
        return;
    case CLAIM_RESULT_EARLY:
        run_tell_early(run, &run->claim.item);
        return;
    case CLAIM_RESULT_FAILED:
        tell_claim_failed(run);
        return;
    case CLAIM_RESULT_CANCELLED: /* somebody asked for it; what it won was undone */
        tell_abandoned(run);
        return;
    }
}

void run_tell_waits(struct run *run, const struct claim_item *answer)
{
    char left[TIME_TEXT_MAX];
    struct log_scope scope = scope_of(run);
    scope.holder = answer->other;
    time_text_span(answer->wait_ms, left);
    if (answer->is_on_hold)
        log_event(run->spec.log, EVENT_CLAIM_WAITS, &scope,
                  "waiting: %s has run it, and keeps the key for %s more (--hold-at-least)",
                  answer->other, left);
    else
        log_event(run->spec.log, EVENT_CLAIM_WAITS, &scope,
                  "waiting for %s, which holds the lease for %s more unless it renews",
                  answer->other, left);
}

void run_tell_early(struct run *run, const struct claim_item *answer)
{
    char ahead[TIME_TEXT_MAX];
    struct log_scope scope = scope_of(run);
    time_text_span(answer->wait_ms, ahead);
    if (answer->wait_ms > CLOCK_AHEAD_MS)
        log_event(run->spec.log, EVENT_CLOCK_AHEAD, &scope,
                  "this host's clock is ahead of the store's: the slot comes in %s there; set the "
                  "clock",
                  ahead);
    else
        log_event(run->spec.log, EVENT_SLOT_EARLY, &scope,
                  "waiting %s: the slot has not come by the store's clock", ahead);
}

static void tell_out_of_time(struct run *run, struct log_scope *scope)
{
    char silence[TIME_TEXT_MAX];
    const struct error *fault = &run->renew.error;
    bool has_fault = fault->kind != ERROR_NONE;
    time_text_span(now_boot_ms() - run->lease.sent_boot_ms, silence);
    scope->error = has_fault ? fault : NULL;
    log_event(run->spec.log, EVENT_LEASE_LOST, scope,
              "the lease is lost: no renewal came through for %s%s%s; the command is ended before "
              "another may start",
              silence, has_fault ? ": " : "", has_fault ? fault->text : "");
}

void run_tell_lost(struct run *run, const char *other)
{
    struct log_scope scope = scope_of(run);
    if (run->is_out_of_time) {
        tell_out_of_time(run, &scope);
        return;
    }
    bool is_known = other != NULL && other[0] != '\0';
    scope.holder = is_known ? other : NULL;
    log_event(run->spec.log, EVENT_LEASE_LOST, &scope,
              "the lease is lost: %s%s%s%s; the command is ended",
              lost_reason_name(run->lost_reason), is_known ? " (" : "", is_known ? other : "",
              is_known ? ")" : "");
}

void run_tell_renew_failed(struct run *run, const struct error *why, int64_t left_ms)
{
    char left[TIME_TEXT_MAX];
    struct log_scope scope = scope_of(run);
    scope.error = why;
    time_text_span(left_ms, left);
    log_event(run->spec.log, EVENT_RENEW_FAILED, &scope,
              "the lease could not be renewed; trying on, the command is ended in %s otherwise: %s",
              left, why->text);
}

void run_tell_leftovers(struct run *run, int count, const char *names)
{
    bool are_waited_for = run->spec.job->leftovers == GUARD_LEFTOVERS_WAIT;
    struct log_scope scope = scope_of(run);
    log_event(run->spec.log, EVENT_LEFTOVERS, &scope,
              "the command has ended and left %d process%s: %s; %s (--leftovers)", count,
              count == 1 ? "" : "es", names,
              are_waited_for ? "the lease is kept until they end" : "they are ended");
}

void run_tell_guard_died(struct run *run)
{
    struct log_scope scope = scope_of(run);
    log_event(run->spec.log, EVENT_GUARD_DIED, &scope,
              "the guard of the command was killed or does not answer: the command is %s",
              run_has_command(run) ? "ended" : "not started");
}

void run_tell_suspended(struct run *run, int number)
{
    char left[TIME_TEXT_MAX];
    struct log_scope scope = scope_of(run);
    time_text_span(lease_term_boot_ms(&run->lease) - now_boot_ms(), left);
    bool wants_terminal = number == SIGTTIN || number == SIGTTOU;
    log_event(run->spec.log, EVENT_TERMINAL_STOP, &scope,
              "stopped%s: the lease is not renewed while stopped; continue within %s or the "
              "command is ended",
              wants_terminal ? ", since the command wants the terminal" : "", left);
}

static void tell_not_released(struct run *run, struct log_scope *scope)
{
    char left[TIME_TEXT_MAX];
    const struct error *why = &run->release.error;
    int64_t left_ms = run->lease.sent_boot_ms + run->lease.timing.ttl_ms - now_boot_ms();
    scope->error = why;
    scope->outcome = run_outcome_name(run->record.outcome);
    scope->status = run->record.status;
    if (left_ms > 0 && !run->facts.is_lost)
        log_event(run->spec.log, EVENT_RELEASE_FAILED, scope,
                  "the lease could not be given back and runs out in %s; the outcome is not "
                  "recorded: %s",
                  time_text_span(left_ms, left), why->text);
    else
        log_event(run->spec.log, EVENT_RELEASE_FAILED, scope, "the outcome is not recorded: %s",
                  why->text);
}

void run_tell_release(struct run *run)
{
    struct log_scope scope = scope_of(run);
    if (!run->release.is_done) {
        tell_not_released(run, &scope);
    } else if (run->release.item.verdict == RELEASE_NOT_OURS && !run->facts.is_lost) {
        log_event(run->spec.log, EVENT_LEASE_LOST, &scope,
                  "the lease was lost before the command ended: its row is another's or gone");
    }
}

void run_tell_line(struct run *run, const struct command_line *line)
{
    struct log_scope scope = scope_of(run);
    log_output(run->spec.log, &scope,
               &(struct log_output){.stream = line->stream,
                                    .bytes = line->bytes,
                                    .length = line->length,
                                    .continues = line->continues});
}

const char *run_tell_failure(const struct run *run, const struct run_record *record,
                             char ret_text[RUN_TELL_FAILURE_MAX])
{
    char limit[TIME_TEXT_MAX];
    int number = record->status - EXIT_SIGNAL_BASE;
    if (record->outcome == OUTCOME_TIMED_OUT)
        snprintf(ret_text, RUN_TELL_FAILURE_MAX,
                 "the command ran longer than %s and was ended (--timeout)",
                 time_text_span(run->spec.job->timeout_ms, limit));
    else if (number <= 0)
        snprintf(ret_text, RUN_TELL_FAILURE_MAX, "the command failed with exit status %d",
                 record->status);
    else
        snprintf(ret_text, RUN_TELL_FAILURE_MAX,
                 "the command was ended by signal %d (%s), not by leaserun", number,
                 strsignal(number));
    return ret_text;
}

void run_tell_retry(struct run *run)
{
    char what[RUN_TELL_FAILURE_MAX], pause[TIME_TEXT_MAX];
    const struct job *job = run->spec.job;
    struct run_record record = run_record_of(&run->facts);
    struct log_scope scope = scope_of(run);
    scope.status = record.status;
    log_event(run->spec.log, EVENT_ATTEMPT_FAILED, &scope,
              "%s, at attempt %d of %" PRId64 "; the next comes in %s",
              run_tell_failure(run, &record, what), run->attempt, job->retries + 1,
              time_text_span(job->retry_delay_ms, pause));
}

/* A command that was told to end and exits 0 has ended in order, though it may not be done. */
static enum level level_of_stopped(const struct run *run, const struct run_record *record)
{
    enum level level = run->spec.levels.stopped;
    return record->status == 0 && level == LEVEL_ERROR ? LEVEL_WARN : level;
}

void run_tell_end(struct run *run, const struct run_record *record)
{
    char what[RUN_TELL_FAILURE_MAX];
    const struct run_levels *levels = &run->spec.levels;
    struct log_scope scope = scope_of(run);
    scope.outcome = run_outcome_name(record->outcome);
    scope.status = record->status;
    scope.took_ms = now_boot_ms() - run->started_boot_ms;
    if (run->command != NULL)
        scope.tail = command_tail(run->command, &scope.tail_length);
    if (record->outcome == OUTCOME_NOT_STARTED)
        log_event(run->spec.log, EVENT_RUN_FAILED, &scope, "%s", run->why_not_started.text);
    else if (record->outcome == OUTCOME_TIMED_OUT)
        log_event(run->spec.log, EVENT_RUN_FAILED, &scope, "%s",
                  run_tell_failure(run, record, what));
    else if (record->outcome == OUTCOME_STOPPED)
        log_event_at(run->spec.log, level_of_stopped(run, record), EVENT_RUN_STOPPED, &scope,
                     "ended: SIG%s came", sigabbrev_np(run->stop_signal));
    else if (record->outcome == OUTCOME_FAILED && !run->facts.has_guard_died)
        log_event_at(run->spec.log, levels->failed, EVENT_RUN_FAILED, &scope, "%s",
                     run_tell_failure(run, record, what));
    log_event_at(run->spec.log, levels->usual, EVENT_RUN_FINISHED, &scope, "the run has ended: %s",
                 scope.outcome);
}
