/* SPDX-License-Identifier: ISC */
#include "base/exit_code.h"
#include "base/fds.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/now.h"
#include "cli/commands.h"
#include "cli/dry_run.h"
#include "cli/run_slot.h"
#include "loop/pool.h"
#include "loop/signals.h"
#include "run/hooks.h"
#include "run/run.h"
#include "run/run_interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define LOG_STALL_MS 30000 /* how long a reader of our lines may stand still after the run */
#define THREAD_COUNT 4     /* the store's, a look-up's, the log's */

struct running {
    uv_loop_t loop;
    struct signals signals;
    struct run run;
    struct hooks hooks;
    char *const *environment;
    struct fds *given; /* the command's, and no hook's */
    struct log log;
    int log_error; /* with which lines were lost; 0: none */
    struct handles handles;
    bool is_over; /* the run is, and its lease given back; hooks may run */
    bool is_closed;
    bool is_draining;  /* the run is over, its last lines are being written */
    bool is_loop_held; /* by a name look-up that hangs in libuv's pool: main leaves by _exit */
};

static bool is_end(int number)
{
    return number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTERM;
}

/* The run is over, and a reader that stands still holds us. */
static void leave_unwritten(struct running *running, int number)
{
    if (!is_end(number))
        return;
    running->log_error = ECANCELED;
    uv_stop(&running->loop);
}

/* The run is over, and a hook holds us; told once more, we wait for no user look-up either. */
static void leave_hooks(struct running *running, int number)
{
    if (!is_end(number))
        return;
    if (running->hooks.end_boot_ms < now_boot_ms())
        uv_stop(&running->loop);
    hooks_end_by(&running->hooks, now_boot_ms());
}

static void on_signal(struct signals *signals, int number)
{
    struct running *running = signals->owner;
    if (number == SIGCHLD)
        command_reap_strangers();
    else if (running->is_draining)
        leave_unwritten(running, number);
    else if (running->is_over)
        leave_hooks(running, number);
    else
        run_signal(&running->run, number);
}

/* Not until the loop is idle: a name look-up that hangs in libuv's pool would hold it. */
static void on_all_closed(struct handles *handles)
{
    uv_stop(&LIST_OBJECT(handles, struct running, handles)->loop);
}

static void close_signals(struct running *running)
{
    running->handles.closed = on_all_closed;
    signals_close(&running->signals, &running->handles);
}

static void on_log_written(void *owner, int error)
{
    struct running *running = owner;
    running->is_draining = false;
    running->log_error = error;
    close_signals(running);
}

static void close_log(struct running *running)
{
    struct writer *writer = running->log.writer;
    if (writer == NULL) {
        close_signals(running);
        return;
    }
    running->is_draining = true;
    log_use_writer(&running->log, NULL);
    writer_close(writer, LOG_STALL_MS, on_log_written, running);
}

static void leave(struct running *running)
{
    if (running->is_closed && hooks_are_idle(&running->hooks))
        close_log(running);
}

static void on_hooks_idle(void *owner)
{
    leave(owner);
}

static void on_run_closed(struct handles *handles)
{
    struct run *run = LIST_OBJECT(handles, struct run, handles);
    struct running *running = LIST_OBJECT(run, struct running, run);
    running->is_closed = true;
    leave(running);
}

static void on_run_finished(struct run *run)
{
    struct running *running = LIST_OBJECT(run, struct running, run);
    running->is_over = true;
    fds_let_go(running->given);
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

/* The command's lines must not make a renewal wait for whoever reads them. */
static bool open_writer(struct running *running, const struct job *job, struct error *err)
{
    if (job->output != JOB_OUTPUT_LINES)
        return true;
    if (!pool_prepare(THREAD_COUNT, err))
        return false;
    log_use_writer(&running->log, writer_open(&running->loop, running->log.fd));
    return true;
}

static bool start(struct running *running, const struct run_spec *spec, struct error *err)
{
    if (!open_writer(running, spec->job, err))
        return false;
    hooks_init(&running->hooks, &running->loop, &running->log, running->environment, spec->signals,
               on_hooks_idle, running);
    return run_start(&running->run, &running->loop, spec, on_run_finished, err);
}

/* What the command has said is lost: that counts where there is nothing worse to tell. */
static int exit_code_of(const struct running *running)
{
    int code = running->run.exit_code;
    return code == EXIT_OK && running->log_error != 0 ? EXIT_OUTPUT : code;
}

static int perform(struct running *running, const struct run_spec *spec)
{
    struct error err;
    if (!open_loop(running, &err))
        return complain(&err);
    if (!start(running, spec, &err)) {
        close_log(running);
        while (uv_run(&running->loop, UV_RUN_DEFAULT) != 0) /* until the guard has gone */
            continue;
        close_loop(running);
        return complain(&err);
    }
    uv_run(&running->loop, UV_RUN_DEFAULT);
    close_loop(running);
    run_interrupt_repeat(&running->run);
    return exit_code_of(running);
}

int cmd_run(struct invocation *invocation)
{
    struct options *options = &invocation->options;
    if (options->is_dry_run)
        return dry_run(invocation);
    const struct job *job = &invocation->job;
    struct command_plan plan;
    struct error err;
    if (!command_plan_make(&plan, job, options->argv, invocation->environment, &err))
        return complain(&err);
    struct running *running = mem_alloc(sizeof *running);
    running->log = config_open_log(&options->config);
    running->environment = invocation->environment;
    running->given = &invocation->given;
    struct run_spec spec = {
        .job = job,
        .store = &invocation->store,
        .log = &running->log,
        .plan = &plan,
        .given = job->retries > 0 ? NULL : &invocation->given, /* the next attempt needs them */
        .signals = &invocation->signals,
        .hooks = &running->hooks, /* a command that was typed has none */
    };
    run_spec_fill(&spec);
    int code = options->slot == NULL ? 0 : run_slot_fill(invocation, &spec);
    if (code == 0)
        code = perform(running, &spec);
    if (!running->is_loop_held)
        free(running);
    command_plan_done(&plan);
    return code;
}
