/* SPDX-License-Identifier: ISC */
#include "run/run.h"

#include "base/exit_code.h"
#include "base/list.h"
#include "base/now.h"
#include "base/time_text.h"
#include "run/run_interrupt.h"
#include "run/run_store.h"
#include "run/run_suspend.h"
#include "run/run_tell.h"
#include "run/slot.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define HASTENED_RELEASE_MS 1000

static void happen(struct run *run, enum run_event event);

/* ---- the actions of the table -------------------------------------------------------------- */

static const struct renew_listener renew_listener;

static void start_command(struct run *run)
{
    const struct job *job = run->spec.job;
    if (run->lease.slot_us != NO_INSTANT)
        time_text_s(run->lease.slot_us, run->slot_text);
    run->started_boot_ms = now_boot_ms();
    if (run->gives_terminal)
        terminal_give(&run->terminal);
    command_start(run->command, &(struct command_start){
                                    .fence = run->lease.fence,
                                    .run_id = run->lease.run_id,
                                    .slot = run->slot_text,
                                    .attempt = 1,
                                    .term_at_boot_ms = lease_term_boot_ms(&run->lease),
                                    .kill_at_boot_ms = lease_deadline_boot_ms(&run->lease),
                                    .grace_ms = job->grace_ms,
                                    .leftovers = job->leftovers,
                                    .is_foreground = run->gives_terminal,
                                });
    renew_start(&run->renew, run->loop, run->store, &run->lease, &renew_listener, run);
    alarm_set_at(&run->out_of_time, lease_term_boot_ms(&run->lease));
    if (job->timeout_ms > 0)
        alarm_set_in(&run->time_up, job->timeout_ms);
}

static void end_tree(struct run *run, int number)
{
    command_stop(run->command, number, now_boot_ms() + run->spec.job->grace_ms);
}

static void end_lost(struct run *run)
{
    int64_t now = now_boot_ms();
    if (run->lost_reason == LOST_TAKEN)
        command_stop(run->command, SIGKILL, now);
    else
        command_stop(run->command, SIGTERM, now + run->lease.timing.loss_grace_ms);
}

static void on_released(void *owner)
{
    happen(owner, RUN_EVENT_RELEASED);
}

static void release(struct run *run)
{
    run->record = run_record_of(&run->facts);
    renew_stop(&run->renew);
    alarm_stop(&run->out_of_time);
    alarm_stop(&run->time_up);
    if (run->terminal.is_given)
        terminal_take_back(&run->terminal, (pid_t)run->command_pid);
    if (run->facts.has_exited && WIFSIGNALED(run->facts.wait_status))
        terminal_restore_modes(&run->terminal);
    release_start(&run->release, run->loop, run->store, &run->lease, run->record.outcome,
                  run->record.status, RELEASE_LIMIT_MS, on_released, run);
}

static int exit_code_without_lease(const struct run *run)
{
    const struct job *job = run->spec.job;
    switch (run->claim.result) {
    case CLAIM_RESULT_DONE:
        return job->is_once ? EXIT_OK : (int)job->held_exit;
    case CLAIM_RESULT_HELD:
    case CLAIM_RESULT_MISSED:
    case CLAIM_RESULT_SKIPPED:
        return (int)job->held_exit;
    case CLAIM_RESULT_CANCELLED:
        return run->stop_signal != 0 ? EXIT_SIGNAL_BASE + run->stop_signal : EXIT_SYSTEM;
    case CLAIM_RESULT_FAILED:
        break;
    case CLAIM_RESULT_WON:
        return EXIT_OK;
    }
    bool is_configuration =
        run->claim.failure == FAILURE_SCHEMA || run->claim.failure == FAILURE_RIGHTS;
    return is_configuration ? EXIT_CONFIG : EXIT_STORE;
}

static void finish(struct run *run)
{
    if (run->lease.fence == 0) {
        run->exit_code = exit_code_without_lease(run);
    } else {
        bool is_ours = !run->release.is_done || run->release.item.verdict == RELEASE_RELEASED;
        run->exit_code = is_ours ? run->record.exit_code : EXIT_LOST;
        run_tell_release(run);
        run_tell_end(run, &run->record);
    }
    /* Not dismissed, the guard goes on trying to give back what we could not. */
    if (run->lease.fence != 0 || !run->claim.is_left_open)
        command_dismiss(run->command);
    run->finished(run);
}

static void perform(struct run *run, enum run_action action)
{
    switch (action) {
    case RUN_ACTION_NONE:
        return;
    case RUN_ACTION_START_COMMAND:
        start_command(run);
        return;
    case RUN_ACTION_CANCEL_CLAIM:
        claim_cancel(&run->claim);
        return;
    case RUN_ACTION_STOP:
        end_tree(run, run->last_signal);
        return;
    case RUN_ACTION_PASS_SIGNAL:
        command_signal(run->command, run->last_signal);
        return;
    case RUN_ACTION_TIME_OUT:
        end_tree(run, SIGTERM);
        return;
    case RUN_ACTION_END_LOST:
        end_lost(run);
        return;
    case RUN_ACTION_END_IN_TIME:
        command_stop(run->command, SIGTERM, lease_deadline_boot_ms(&run->lease));
        return;
    case RUN_ACTION_RELEASE:
        release(run);
        return;
    case RUN_ACTION_HASTEN_RELEASE:
        release_hasten(&run->release, HASTENED_RELEASE_MS);
        return;
    case RUN_ACTION_FINISH:
        finish(run);
        return;
    case RUN_ACTION_BUG:
    case RUN_ACTION_COUNT:
        break;
    }
    abort();
}

/* The one place where the state changes. */
static void happen(struct run *run, enum run_event event)
{
    struct run_step step = run_state_step(run->state, event);
    if (step.action == RUN_ACTION_BUG)
        fprintf(stderr, "leaserun: bug: %s while %s\n", run_event_name(event),
                run_state_name(run->state));
    run->state = step.next;
    perform(run, step.action);
}

/* ---- what the claim tells ------------------------------------------------------------------ */

static void on_claim_finished(void *owner, enum claim_result result)
{
    struct run *run = owner;
    run_tell_claim(run, result);
    happen(run, result == CLAIM_RESULT_WON ? RUN_EVENT_CLAIM_WON : RUN_EVENT_CLAIM_ENDED);
}

static void on_claim_waits(void *owner, const struct claim_item *answer)
{
    run_tell_waits(owner, answer);
}

static void on_claim_early(void *owner, const struct claim_item *answer)
{
    run_tell_early(owner, answer);
}

static const struct claim_listener claim_listener = {
    .finished = on_claim_finished,
    .waits = on_claim_waits,
    .early = on_claim_early,
};

/* ---- what the renewals and clocks tell ----------------------------------------------------- */

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
    happen(run, RUN_EVENT_LEASE_LOST);
}

static void on_renew_settled(void *owner)
{
    run_suspend_when_quiet(owner);
}

static const struct renew_listener renew_listener = {
    .renewed = on_renewed,
    .failed = on_renew_failed,
    .lost = on_renew_lost,
    .settled = on_renew_settled,
};

static void on_out_of_time(struct alarm *alarm)
{
    struct run *run = LIST_OBJECT(alarm, struct run, out_of_time);
    note_lost(run, true, NULL);
    happen(run, RUN_EVENT_OUT_OF_TIME);
}

/* Whether what happens now is what ends the command, and not one thing more while it ends or while
 * what it left is being ended. */
static bool ends_command(const struct run *run)
{
    bool is_ended = run->facts.is_timed_out || run->facts.is_stopped || run->facts.has_guard_died;
    return run->state == RUN_RUNNING || (run->state == RUN_CLEARING && !is_ended &&
                                         run->spec.job->leftovers == GUARD_LEFTOVERS_WAIT);
}

static void on_time_up(struct alarm *alarm)
{
    struct run *run = LIST_OBJECT(alarm, struct run, time_up);
    run->facts.is_timed_out |= ends_command(run);
    happen(run, RUN_EVENT_TIME_UP);
}

/* ---- what the command tells ---------------------------------------------------------------- */

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
    happen(run, RUN_EVENT_NOT_STARTED);
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
    happen(run, RUN_EVENT_COMMAND_EXITED);
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
    happen(run, RUN_EVENT_GUARD_DIED);
}

static void on_empty(void *owner, enum guard_killer killer)
{
    struct run *run = owner;
    notice_deadline(run, killer);
    happen(run, RUN_EVENT_TREE_EMPTY);
}

static const struct command_listener command_listener = {
    .started = on_started,
    .not_started = on_not_started,
    .stopped = run_suspend_on_stopped,
    .exited = on_exited,
    .leftovers = on_leftovers,
    .guard_died = on_guard_died,
    .empty = on_empty,
};

bool run_has_command(const struct run *run)
{
    return run->state == RUN_RUNNING || run->state == RUN_STOPPING || run->state == RUN_CLEARING;
}

void run_signal(struct run *run, int number)
{
    switch (number) {
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGTERM:
        run->last_signal = number;
        if (run->stop_signal == 0)
            run->stop_signal = number;
        run->facts.is_stopped |= ends_command(run);
        happen(run, RUN_EVENT_STOP_ASKED);
        return;
    case SIGCONT:
        run_suspend_on_continued(run);
        return;
    case SIGTSTP:
        run_suspend_on_asked(run);
        return;
    default: /* USR1, USR2 */
        if (run_has_command(run))
            command_signal(run->command, number);
    }
}

static void on_suspend_again(struct alarm *alarm)
{
    run_suspend_on_asked(LIST_OBJECT(alarm, struct run, suspend_again));
}

/* ---- start and close ------------------------------------------------------------------------ */

static void fill_lease(struct run *run)
{
    const struct job *job = run->spec.job;
    run->lease = (struct lease){
        .key = job->key,
        .job = job->name,
        .slot_us = slot_of(job->once_per, now_wall_us()),
        .timing = lease_timing(job->ttl_ms, job->grace_ms),
    };
    identity_holder(run->lease.holder);
    identity_run_id(run->lease.run_id);
}

static void start_claim(struct run *run)
{
    const struct job *job = run->spec.job;
    struct claim_spec spec = {
        .hold_ms = job->hold_at_least_ms,
        .slot_window_ms = slot_window_ms(job->once_per, job->start_within_ms),
        .is_once = job->is_once,
        .guard_pid = command_guard_pid(run->command),
        .may_wait = job->wait_ms > 0,
        .give_up_ms = job->wait_ms > 0 ? job->wait_ms : job->start_within_ms,
    };
    command_hold(run->command, run->lease.holder, run->lease.run_id);
    claim_start(&run->claim, run->loop, run->store, &run->lease, &spec, &claim_listener, run);
}

static bool open_command(struct run *run, struct error *err)
{
    const struct command_spec command = {
        .key = run->spec.job->key,
        .plan = run->spec.plan,
        .signals = run->spec.signals,
        .store_url = run->spec.store->url,
        .store_schema = run->spec.store->schema,
        .job = run->spec.job->name,
    };
    return command_open(&run->command, run->loop, &command, &command_listener, run, err);
}

bool run_start(struct run *run, uv_loop_t *loop, const struct run_spec *spec,
               void (*finished)(struct run *run), struct error *err)
{
    *run = (struct run){.spec = *spec, .loop = loop, .finished = finished};
    fill_lease(run);
    terminal_open(&run->terminal);
    run->has_terminal = run->terminal.fd >= 0;
    run->gives_terminal = terminal_should_give(&run->terminal);
    if (!run_store_open(run, err)) {
        terminal_close(&run->terminal);
        return false;
    }
    /* The guard starts while the server makes its end of the connection. */
    if (!open_command(run, err)) {
        store_close(run->store, NULL, NULL);
        terminal_close(&run->terminal);
        return false;
    }
    fds_let_go(spec->given);
    alarm_init(&run->out_of_time, loop, on_out_of_time);
    alarm_init(&run->time_up, loop, on_time_up);
    alarm_init(&run->suspend_again, loop, on_suspend_again);
    start_claim(run);
    return true;
}

static void on_store_closed(void *owner)
{
    struct run *run = owner;
    alarm_close(&run->out_of_time, &run->handles);
    alarm_close(&run->time_up, &run->handles);
    alarm_close(&run->suspend_again, &run->handles);
    claim_close(&run->claim, &run->handles);
    if (run->renew.owner != NULL)
        renew_close(&run->renew, &run->handles);
    if (run->release.owner != NULL)
        release_close(&run->release, &run->handles);
}

static void on_command_closed(void *owner)
{
    struct run *run = owner;
    store_close(run->store, on_store_closed, run);
}

void run_close(struct run *run, void (*closed)(struct handles *handles))
{
    run->handles.closed = closed;
    terminal_close(&run->terminal);
    command_close(run->command, on_command_closed);
}
