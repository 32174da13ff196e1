/* SPDX-License-Identifier: ISC */
#include "run/run.h"

#include "base/exit_code.h"
#include "base/list.h"
#include "base/now.h"
#include "run/run_hooks.h"
#include "run/run_inside.h"
#include "run/run_store.h"
#include "run/run_suspend.h"
#include "run/run_tell.h"
#include "run/slot.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define HASTENED_RELEASE_MS 1000

/* ---- the actions of the table -------------------------------------------------------------- */

static void on_released(void *owner)
{
    run_inside_happen(owner, RUN_EVENT_RELEASED);
}

static void release(struct run *run)
{
    run->record = run_record_of(&run->facts);
    renew_stop(&run->renew);
    alarm_stop(&run->out_of_time);
    alarm_stop(&run->time_up);
    alarm_stop(&run->pause);
    if (run->terminal.is_given)
        terminal_take_back(&run->terminal, (pid_t)run->command_pid);
    if (run->facts.has_exited && WIFSIGNALED(run->facts.wait_status))
        terminal_restore_modes(&run->terminal);
    struct release_record record = {.outcome = run->record.outcome, .status = run->record.status};
    if (run->command != NULL)
        record.output_tail = command_tail(run->command, &record.output_tail_length);
    release_start(&run->release, run->loop, run->renewals, &run->lease, &record, RELEASE_LIMIT_MS,
                  on_released, run);
}

static void undo(struct run *run)
{
    run->is_undone = true;
    release_start_undo(&run->release, run->loop, run->renewals, &run->lease, RELEASE_LIMIT_MS,
                       on_released, run);
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
    case CLAIM_RESULT_EARLY:
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

static void end_with_lease(struct run *run)
{
    bool is_ours = !run->release.is_done || run->release.item.verdict == RELEASE_RELEASED;
    run->exit_code = is_ours ? run->record.exit_code : EXIT_LOST;
    run_tell_release(run);
    if (run->is_undone)
        return;
    run_tell_end(run, &run->record);
    run_hooks_on_end(run, is_ours);
}

static void finish(struct run *run)
{
    if (run->lease.fence == 0)
        run->exit_code = exit_code_without_lease(run);
    else
        end_with_lease(run);
    /* Not dismissed, the guard goes on trying to give back what we could not. */
    if (run->command != NULL && (run->lease.fence != 0 || !run->claim.is_left_open))
        command_dismiss(run->command);
    run->finished(run);
}

static void perform(struct run *run, enum run_action action)
{
    switch (action) {
    case RUN_ACTION_NONE:
        return;
    case RUN_ACTION_START_COMMAND:
        run_command_start(run);
        return;
    case RUN_ACTION_CANCEL_CLAIM:
        claim_cancel(&run->claim);
        return;
    case RUN_ACTION_STOP:
        run_command_end(run, run->last_signal);
        return;
    case RUN_ACTION_PASS_SIGNAL:
        command_signal(run->command, run->last_signal);
        return;
    case RUN_ACTION_TIME_OUT:
        run_command_end(run, SIGTERM);
        return;
    case RUN_ACTION_END_LOST:
        run_command_end_lost(run);
        return;
    case RUN_ACTION_END_IN_TIME:
        command_stop(run->command, SIGTERM, lease_deadline_boot_ms(&run->lease));
        return;
    case RUN_ACTION_PAUSE:
        run_command_pause(run);
        return;
    case RUN_ACTION_RELEASE:
        release(run);
        return;
    case RUN_ACTION_UNDO:
        undo(run);
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

void run_inside_happen(struct run *run, enum run_event event)
{
    struct run_step step = run_state_step(run->state, event);
    if (step.action == RUN_ACTION_BUG)
        fprintf(stderr, "leaserun: bug: %s while %s\n", run_event_name(event),
                run_state_name(run->state));
    run->state = step.next;
    perform(run, step.action);
}

/* ---- what it is told from above -------------------------------------------------------------- */

bool run_has_command(const struct run *run)
{
    return run->state == RUN_RUNNING || run->state == RUN_STOPPING || run->state == RUN_CLEARING;
}

static void stop(struct run *run, int number)
{
    run->last_signal = number;
    if (run->stop_signal == 0)
        run->stop_signal = number;
    run->facts.is_stopped |= run_hears_as_cause(run) || run->state == RUN_PAUSING;
    run_inside_happen(run, RUN_EVENT_STOP_ASKED);
}

void run_signal(struct run *run, int number)
{
    switch (number) {
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGTERM:
        stop(run, number);
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

void run_stop(struct run *run, int64_t grace_ms)
{
    run->stop_grace_ms = grace_ms;
    stop(run, SIGTERM);
}

void run_hasten(struct run *run, int64_t release_ms)
{
    if (run_has_command(run))
        command_stop(run->command, SIGKILL, now_boot_ms());
    else if (run->state == RUN_RELEASING || run->state == RUN_UNDOING)
        release_hasten(&run->release, release_ms);
}

void run_store_is_back(struct run *run)
{
    if (run->state == RUN_CLAIMING)
        claim_hurry(&run->claim);
    else if (run_has_command(run) || run->state == RUN_PAUSING)
        renew_now(&run->renew);
}

static void on_suspend_again(struct alarm *alarm)
{
    run_suspend_on_asked(LIST_OBJECT(alarm, struct run, suspend_again));
}

/* ---- start and close ------------------------------------------------------------------------ */

void run_spec_fill(struct run_spec *spec)
{
    const struct job *job = spec->job;
    spec->key = job->key;
    spec->slot_us = slot_of(job->once_per, now_wall_us());
    spec->claim = (struct claim_spec){
        .hold_ms = job->hold_at_least_ms,
        .slot_window_ms = slot_window_ms(job->once_per, job->start_within_ms),
        .is_once = job->is_once,
        .may_wait = job->wait_ms > 0,
        .give_up_ms = job->wait_ms > 0 ? job->wait_ms : job->start_within_ms,
    };
    spec->levels = (struct run_levels){LEVEL_DEBUG, LEVEL_WARN, LEVEL_INFO};
}

static void fill_lease(struct run *run)
{
    const struct job *job = run->spec.job;
    run->lease = (struct lease){
        .key = run->spec.key,
        .job = job->name,
        .slot_us = run->spec.slot_us,
        .timing = lease_timing(job->ttl_ms, job->grace_ms),
    };
    identity_holder(run->lease.holder);
    identity_run_id(run->lease.run_id);
    if (run->spec.run_id != NULL)
        snprintf(run->lease.run_id, sizeof run->lease.run_id, "%s", run->spec.run_id);
}

static void start_claim(struct run *run)
{
    if (run->command != NULL) {
        run->spec.claim.guard_pid = command_guard_pid(run->command);
        command_hold(run->command, run->lease.holder, run->lease.run_id);
    }
    claim_start(&run->claim, run->loop, run->claims, &run->lease, &run->spec.claim,
                &run_hears_claim, run);
}

static bool open_store(struct run *run, struct error *err)
{
    run->claims = run->spec.claims;
    run->renewals = run->spec.renewals;
    run->has_own_store = run->claims == NULL;
    if (!run->has_own_store)
        return true;
    if (!run_store_open(run, &run->claims, err))
        return false;
    run->renewals = run->claims;
    return true;
}

/* A scheduler's runs have no part in job control. */
static void open_terminal(struct run *run)
{
    run->terminal.fd = -1;
    if (run->spec.listener != NULL)
        return;
    terminal_open(&run->terminal);
    run->has_terminal = run->terminal.fd >= 0;
    run->gives_terminal = terminal_should_give(&run->terminal);
}

bool run_start(struct run *run, uv_loop_t *loop, const struct run_spec *spec,
               void (*finished)(struct run *run), struct error *err)
{
    *run = (struct run){
        .spec = *spec, .loop = loop, .finished = finished, .stop_grace_ms = spec->job->grace_ms};
    fill_lease(run);
    open_terminal(run);
    if (!open_store(run, err)) {
        terminal_close(&run->terminal);
        return false;
    }
    /* The guard starts while the server makes its end of the connection. */
    if (!spec->is_guard_late && !run_command_open(run, err)) {
        if (run->has_own_store)
            store_close(run->claims, NULL, NULL);
        terminal_close(&run->terminal);
        return false;
    }
    if (spec->given != NULL)
        fds_let_go(spec->given);
    alarm_init(&run->out_of_time, loop, run_hears_out_of_time);
    alarm_init(&run->time_up, loop, run_hears_time_up);
    alarm_init(&run->pause, loop, run_hears_pause_over);
    alarm_init(&run->suspend_again, loop, on_suspend_again);
    start_claim(run);
    return true;
}

static void on_store_closed(void *owner)
{
    struct run *run = owner;
    alarm_close(&run->out_of_time, &run->handles);
    alarm_close(&run->time_up, &run->handles);
    alarm_close(&run->pause, &run->handles);
    alarm_close(&run->suspend_again, &run->handles);
    claim_close(&run->claim, &run->handles);
    if (run->renew.owner != NULL)
        renew_close(&run->renew, &run->handles);
    if (run->release.owner != NULL)
        release_close(&run->release, &run->handles);
}

/* A store that was lent lives on: what is out must have come back first. */
static void on_command_closed(void *owner)
{
    struct run *run = owner;
    if (run->has_own_store) {
        store_close(run->claims, on_store_closed, run);
    } else if (run->renew.owner != NULL && renew_is_asking(&run->renew)) {
        run->is_closing = true;
        store_hasten(run->renewals, &run->renew.request, 0);
    } else {
        on_store_closed(run);
    }
}

void run_inside_quiet(struct run *run)
{
    if (run->is_closing)
        on_store_closed(run);
}

void run_close(struct run *run, void (*closed)(struct handles *handles))
{
    run->handles.closed = closed;
    terminal_close(&run->terminal);
    if (run->command != NULL)
        command_close(run->command, on_command_closed);
    else
        on_command_closed(run);
}
