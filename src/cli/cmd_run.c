/* SPDX-License-Identifier: ISC */
#include "base/exit_code.h"
#include "base/fds.h"
#include "base/list.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/dry_run.h"
#include "loop/signals.h"
#include "run/run.h"
#include "run/run_interrupt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct running {
    uv_loop_t loop;
    struct signals signals;
    struct run run;
    struct handles handles;
    bool is_loop_held; /* by a name look-up that hangs in libuv's pool: main leaves by _exit */
};

static void on_signal(struct signals *signals, int number)
{
    struct running *running = signals->owner;
    if (number == SIGCHLD)
        command_reap_strangers();
    else
        run_signal(&running->run, number);
}

/* Not until the loop is idle: a name look-up that hangs in libuv's pool would hold it. */
static void on_all_closed(struct handles *handles)
{
    uv_stop(&LIST_OBJECT(handles, struct running, handles)->loop);
}

static void on_run_closed(struct handles *handles)
{
    struct run *run = LIST_OBJECT(handles, struct run, handles);
    struct running *running = LIST_OBJECT(run, struct running, run);
    running->handles.closed = on_all_closed;
    signals_close(&running->signals, &running->handles);
}

static void on_run_finished(struct run *run)
{
    run_close(run, on_run_closed);
}

static bool open_loop(struct running *running, struct error *err)
{
    if (!fds_need_room(err))
        return false;
    int rc = uv_loop_init(&running->loop);
    if (rc != 0)
        return error_set(err, ERROR_SYSTEM, "the event loop cannot be set up: %s", uv_strerror(rc));
    rc = signals_open(&running->signals, &running->loop, on_signal, running);
    if (rc == 0)
        return true;
    uv_loop_close(&running->loop);
    return error_set(err, ERROR_SYSTEM, "signals cannot be read: %s", uv_strerror(rc));
}

static void close_loop(struct running *running)
{
    running->is_loop_held = uv_loop_close(&running->loop) != 0;
}

static int complain(const struct error *err)
{
    fprintf(stderr, "leaserun: %s\n", err->text);
    return (int)exit_code_of_error(err->kind);
}

static int perform(struct running *running, const struct run_spec *spec)
{
    struct error err;
    if (!open_loop(running, &err))
        return complain(&err);
    if (!run_start(&running->run, &running->loop, spec, on_run_finished, &err)) {
        int code = complain(&err);
        signals_close(&running->signals, &running->handles);
        uv_run(&running->loop, UV_RUN_DEFAULT); /* until the guard has gone */
        close_loop(running);
        return code;
    }
    uv_run(&running->loop, UV_RUN_DEFAULT);
    close_loop(running);
    run_interrupt_repeat(&running->run);
    return running->run.exit_code;
}

int cmd_run(struct invocation *invocation)
{
    struct options *options = &invocation->options;
    if (options->is_dry_run)
        return dry_run(invocation);
    struct job *job = &options->config.job;
    if (job->start_within_ms == JOB_START_WITHIN_AUTO)
        job->start_within_ms = JOB_START_WITHIN_TYPED_MS;
    struct log log = config_open_log(&options->config);
    struct command_plan plan;
    struct error err;
    if (!command_plan_make(&plan, job, options->argv, invocation->environment, &err))
        return complain(&err);
    struct run_spec spec = {
        .job = job,
        .store = &invocation->store,
        .log = &log,
        .plan = &plan,
        .given = &invocation->given,
        .signals = &invocation->signals,
    };
    run_spec_fill(&spec);
    struct running *running = mem_alloc(sizeof *running);
    int code = perform(running, &spec);
    if (!running->is_loop_held)
        free(running);
    command_plan_done(&plan);
    return code;
}
