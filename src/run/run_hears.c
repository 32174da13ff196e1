/* SPDX-License-Identifier: ISC */
/* What a run hears from its claim, its renewals, its alarms and its command, noted as facts and
 * turned into events. */
#include "base/list.h"
#include "run/run_hooks.h"
#include "run/run_inside.h"
#include "run/run_interrupt.h"
#include "run/run_suspend.h"
#include "run/run_tell.h"

/* ---- the claim ------------------------------------------------------------------------------ */

static void on_claim_finished(void *owner, enum claim_result result)
{
    struct run *run = owner;
    if (run->spec.listener != NULL)
        run->spec.listener->claimed(run, result);
    else
        run_tell_claim(run, result);
    run_hooks_on_claim(run, result);
    run_inside_happen(run,
                      result == CLAIM_RESULT_WON ? RUN_EVENT_CLAIM_WON : RUN_EVENT_CLAIM_ENDED);
}

static void on_claim_waits(void *owner, const struct claim_item *answer)
{
    run_tell_waits(owner, answer);
}

static void on_claim_early(void *owner, const struct claim_item *answer)
{
    struct run *run = owner;
    if (run->spec.listener == NULL)
        run_tell_early(run, answer);
}

static void on_claim_attempt_failed(void *owner)
{
    struct run *run = owner;
    if (run->spec.listener != NULL)
        run->spec.listener->claim_failed(run);
}

const struct claim_listener run_hears_claim = {
    .finished = on_claim_finished,
    .waits = on_claim_waits,
    .early = on_claim_early,
    .failed = on_claim_attempt_failed,
};

/* ---- renewals and clocks -------------------------------------------------------------------- */

static void on_renewed(void *owner)
{
    struct run *run = owner;
    if (!run->facts.is_lost)
        alarm_set_at(&run->out_of_time, lease_term_boot_ms(&run->lease));
    command_move_deadline(run->command, lease_term_boot_ms(&run->lease),
                          lease_deadline_boot_ms(&run->lease));
}

static void on_renew_failed(void *owner, const struct error *why, int64_t left_ms)
{
    run_tell_renew_failed(owner, why, left_ms);
}

/* Told once: what comes first is the cause. */
static void note_lost(struct run *run, bool is_out_of_time, const char *other)
{
    alarm_stop(&run->out_of_time);
    if (run->facts.is_lost)
        return;
    run->facts.is_lost = true;
    run->is_out_of_time = is_out_of_time;
    run_tell_lost(run, other);
}

static void on_renew_lost(void *owner, enum lost_reason reason, const char *other)
{
    struct run *run = owner;
    run->lost_reason = reason;
    note_lost(run, false, other);
    run_inside_happen(run, RUN_EVENT_LEASE_LOST);
}

static void on_renew_settled(void *owner)
{
    run_suspend_when_quiet(owner);
}

static void on_renew_quiet(void *owner)
{
    run_inside_quiet(owner);
}

const struct renew_listener run_hears_renew = {
    .renewed = on_renewed,
    .failed = on_renew_failed,
    .lost = on_renew_lost,
    .settled = on_renew_settled,
    .quiet = on_renew_quiet,
};

void run_hears_out_of_time(struct alarm *alarm)
{
    struct run *run = LIST_OBJECT(alarm, struct run, out_of_time);
    note_lost(run, true, NULL);
    run_inside_happen(run, RUN_EVENT_OUT_OF_TIME);
}

bool run_hears_as_cause(const struct run *run)
{
    bool is_ended = run->facts.is_timed_out || run->facts.is_stopped || run->facts.has_guard_died;
    return run->state == RUN_RUNNING || (run->state == RUN_CLEARING && !is_ended &&
                                         run->spec.job->leftovers == GUARD_LEFTOVERS_WAIT);
}

void run_hears_time_up(struct alarm *alarm)
{
    struct run *run = LIST_OBJECT(alarm, struct run, time_up);
    run->facts.is_timed_out |= run_hears_as_cause(run);
    run_inside_happen(run, RUN_EVENT_TIME_UP);
}

void run_hears_pause_over(struct alarm *alarm)
{
    run_inside_happen(LIST_OBJECT(alarm, struct run, pause), RUN_EVENT_PAUSE_OVER);
}

/* ---- the command ---------------------------------------------------------------------------- */

static void on_started(void *owner, int64_t pid)
{
    struct run *run = owner;
    run->command_pid = pid;
}

static void on_not_started(void *owner, int exit_code, const struct error *why)
{
    struct run *run = owner;
    run->facts.is_not_started = true;
    run->facts.not_started_exit = exit_code;
    run->why_not_started = *why;
    run_inside_happen(run, RUN_EVENT_NOT_STARTED);
}

/* The guard watches the deadline too and may be first, after this process was stopped. */
static void notice_deadline(struct run *run, enum guard_killer killer)
{
    if (killer == GUARD_KILLER_DEADLINE)
        note_lost(run, true, NULL);
}

static void on_exited(void *owner, int wait_status, enum guard_killer killer)
{
    struct run *run = owner;
    run->facts.has_exited = true;
    run->facts.wait_status = wait_status;
    run_interrupt_note(run);
    notice_deadline(run, killer);
    run_inside_happen(run, RUN_EVENT_COMMAND_EXITED);
}

static void on_leftovers(void *owner, int count, const char *names)
{
    run_tell_leftovers(owner, count, names);
}

static void on_guard_died(void *owner)
{
    struct run *run = owner;
    if (run->state == RUN_CLAIMING || run_has_command(run)) {
        run->facts.has_guard_died = true;
        run_tell_guard_died(run);
    }
    run_inside_happen(run, RUN_EVENT_GUARD_DIED);
}

/* The command's own failure, or that it took too long; not what ended it from outside. */
static bool may_retry(const struct run *run)
{
    enum run_outcome outcome = run_record_of(&run->facts).outcome;
    bool is_commands = outcome == OUTCOME_FAILED || outcome == OUTCOME_TIMED_OUT;
    return run->state == RUN_CLEARING && is_commands && !run->facts.has_guard_died &&
           run->attempt <= run->spec.job->retries;
}

static void on_line(void *owner, const struct command_line *line)
{
    run_tell_line(owner, line);
}

static void on_empty(void *owner, enum guard_killer killer)
{
    struct run *run = owner;
    notice_deadline(run, killer);
    run_inside_happen(run, may_retry(run) ? RUN_EVENT_MAY_RETRY : RUN_EVENT_TREE_EMPTY);
}

const struct command_listener run_hears_command = {
    .started = on_started,
    .not_started = on_not_started,
    .stopped = run_suspend_on_stopped,
    .exited = on_exited,
    .leftovers = on_leftovers,
    .guard_died = on_guard_died,
    .empty = on_empty,
    .line = on_line,
};
