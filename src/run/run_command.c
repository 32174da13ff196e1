/* SPDX-License-Identifier: ISC */
/* A run and its command: each attempt has a guard of its own. */
#include "base/exit_code.h"
#include "base/now.h"
#include "run/run_inside.h"
#include "run/run_tell.h"

#include <signal.h>

bool run_command_open(struct run *run, struct error *err)
{
    const struct command_spec command = {
        .key = run->spec.key,
        .plan = run->spec.plan,
        .signals = run->spec.signals,
        .store = run->spec.store,
        .job = run->spec.job->name,
        .output = run->spec.job->output,
        .tail_most = (size_t)run->spec.job->output_tail,
        .writer = run->spec.log->writer,
    };
    return command_open(&run->command, run->loop, &command, &run_hears_command, run, err);
}

int run_command_attempt(const struct run *run)
{
    int64_t starts = run->claim.item.starts;
    return run->attempt + (starts > 1 ? (int)starts - 1 : 0);
}

static void start(struct run *run)
{
    const struct job *job = run->spec.job;
    command_start(run->command, &(struct command_start){
                                    .fence = run->lease.fence,
                                    .run_id = run->lease.run_id,
                                    .slot = run->slot_text,
                                    .attempt = run_command_attempt(run),
                                    .term_at_boot_ms = lease_term_boot_ms(&run->lease),
                                    .kill_at_boot_ms = lease_deadline_boot_ms(&run->lease),
                                    .grace_ms = job->grace_ms,
                                    .leftovers = job->leftovers,
                                    .is_foreground = run->gives_terminal,
                                });
    if (job->timeout_ms > 0)
        alarm_set_in(&run->time_up, job->timeout_ms);
}

static void start_first(struct run *run)
{
    struct error *why = &run->why_not_started;
    if (run->command == NULL && !run_command_open(run, why)) {
        run_inside_happen(run, RUN_EVENT_NO_GUARD);
        return;
    }
    if (run->spec.is_guard_late)
        command_hold(run->command, run->lease.holder, run->lease.run_id);
    if (run->lease.slot_us != NO_INSTANT)
        time_text_s(run->lease.slot_us, run->slot_text);
    if (run->gives_terminal)
        terminal_give(&run->terminal);
    run->started_boot_ms = now_boot_ms();
    start(run);
    renew_start(&run->renew, run->loop, run->renewals, &run->lease, &run_hears_renew, run);
    alarm_set_at(&run->out_of_time, lease_term_boot_ms(&run->lease));
}

/* The guard of the attempt before stays until this one is there: should leaserun die in the pause,
 * it gives the lease back. */
static void start_again(struct run *run)
{
    struct command *before = run->command;
    struct error why;
    run->facts = (struct run_facts){.is_stopped = false};
    if (!run_command_open(run, &why)) {
        run->command = before;
        run->facts.is_not_started = true;
        run->facts.not_started_exit = EXIT_SYSTEM;
        run->why_not_started = why;
        run_inside_happen(run, RUN_EVENT_NOT_STARTED);
        run_inside_happen(run, RUN_EVENT_TREE_EMPTY);
        return;
    }
    command_hold(run->command, run->lease.holder, run->lease.run_id);
    start(run);
    command_dismiss(before);
    command_close(before, NULL);
}

void run_command_start(struct run *run)
{
    run->attempt++;
    if (run->attempt == 1)
        start_first(run);
    else
        start_again(run);
}

void run_command_pause(struct run *run)
{
    alarm_stop(&run->time_up);
    run->command_pid = 0;
    run_tell_retry(run);
    alarm_set_in(&run->pause, run->spec.job->retry_delay_ms);
}

void run_command_end(struct run *run, int number)
{
    command_stop(run->command, number, now_boot_ms() + run->stop_grace_ms);
}

void run_command_end_lost(struct run *run)
{
    int64_t now = now_boot_ms();
    if (run->lost_reason == LOST_TAKEN)
        command_stop(run->command, SIGKILL, now);
    else
        command_stop(run->command, SIGTERM, now + run->lease.timing.loss_grace_ms);
}
