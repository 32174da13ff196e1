/* SPDX-License-Identifier: ISC */
#include "base/exit_code.h"
#include "base/fds.h"
#include "base/list.h"
#include "base/mem.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "conf/job_table.h"
#include "conf/store_choice.h"
#include "loop/pool.h"
#include "loop/signals.h"
#include "schedule/scheduler.h"

#include <signal.h>
#include <stdlib.h>

#define LOG_STALL_MS 1000 /* how long a reader of the log may stand still at the end */
#define THREAD_COUNT 4    /* the store's, a look-up's, the table's, the log's */

struct keeping {
    uv_loop_t loop;
    bool has_loop;
    struct signals signals;
    struct scheduler scheduler;
    struct log log;
    struct handles handles;
};

static void on_signal(struct signals *signals, int number)
{
    struct keeping *keeping = signals->owner;
    scheduler_signal(&keeping->scheduler, number);
}

/* Not until the loop is idle: a name look-up that hangs in libuv's pool would hold it. */
static void on_all_closed(struct handles *handles)
{
    uv_stop(&LIST_OBJECT(handles, struct keeping, handles)->loop);
}

static void on_log_written(void *owner, int error)
{
    struct keeping *keeping = owner;
    keeping->handles.closed = on_all_closed;
    signals_close(&keeping->signals, &keeping->handles);
}

static void close_log(struct keeping *keeping)
{
    struct writer *writer = keeping->log.writer;
    log_use_writer(&keeping->log, NULL);
    writer_close(writer, LOG_STALL_MS, on_log_written, keeping);
}

static void on_finished(struct scheduler *scheduler)
{
    close_log(LIST_OBJECT(scheduler, struct keeping, scheduler));
}

/* ---- before the loop ------------------------------------------------------------------------- */

static int read_table(struct invocation *invocation, struct job_table *ret_table)
{
    struct options *options = &invocation->options;
    struct ini_faults faults = {.count = 0};
    struct error error;
    int code = 0;
    if (!options_settle_table(options, ret_table, &faults))
        code = say_faults(&faults);
    else if (!store_choice_make(&options->config, &invocation->store, NULL, &error))
        code = say_error(&error);
    else if (!job_table_check_store(ret_table, !store_url_is_local(invocation->store.url), &faults))
        code = say_faults(&faults);
    if (code != 0)
        job_table_done(ret_table);
    ini_faults_done(&faults);
    return code;
}

static int initialise(struct invocation *invocation)
{
    struct error error;
    struct store_request request = {.kind = STORE_INIT};
    if (!invocation->options.is_init)
        return 0;
    if (!ask_store(&invocation->store, &request, ASK_LIMITS_UPKEEP, &error))
        return say_error(&error);
    return 0;
}

/* What it says is its story: without being asked, more of it than of a single run. */
static struct log open_log(struct config *config)
{
    if (config->log_level == CONFIG_LEVEL_AUTO)
        config->log_level = LEVEL_INFO;
    return config_open_log(config);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static bool open_loop(struct keeping *keeping, struct error *err)
{
    if (!fds_need_room(err) || !pool_prepare(THREAD_COUNT, err))
        return false;
    int rc = uv_loop_init(&keeping->loop);
    if (rc != 0)
        return error_set(err, ERROR_SYSTEM, "the event loop cannot be set up: %s", uv_strerror(rc));
    keeping->has_loop = true;
    rc = signals_open(&keeping->signals, &keeping->loop, on_signal, keeping);
    return rc == 0 || error_set(err, ERROR_SYSTEM, "signals cannot be read: %s", uv_strerror(rc));
}

static int keep(struct keeping *keeping, const struct scheduler_spec *spec, struct job_table *table)
{
    struct error error;
    fds_leave_stdin();
    if (!open_loop(keeping, &error)) {
        job_table_done(table);
        return say_error(&error);
    }
    /* Whoever reads the log must not make a renewal wait. */
    log_use_writer(&keeping->log, writer_open(&keeping->loop, keeping->log.fd));
    if (!scheduler_start(&keeping->scheduler, &keeping->loop, spec, table, on_finished, &error)) {
        close_log(keeping);
        while (uv_run(&keeping->loop, UV_RUN_DEFAULT) != 0)
            continue;
        return say_error(&error);
    }
    uv_run(&keeping->loop, UV_RUN_DEFAULT);
    return keeping->scheduler.exit_code;
}

/* Threads of a loop that could not be closed may still write to it: then it stays. */
static void dispose(struct keeping *keeping)
{
    bool is_at_rest = !keeping->has_loop ||
                      (!keeping->scheduler.is_abandoned && uv_loop_close(&keeping->loop) == 0);
    if (is_at_rest)
        free(keeping);
}

int cmd_schedule(struct invocation *invocation)
{
    struct options *options = &invocation->options;
    struct job_table table;
    int code = read_table(invocation, &table);
    if (code != 0)
        return code;
    code = initialise(invocation);
    if (code != 0) {
        job_table_done(&table);
        return code;
    }
    struct keeping *keeping = mem_alloc(sizeof *keeping);
    keeping->log = open_log(&options->config);
    const struct scheduler_spec spec = {
        .config = &options->config,
        .store = &invocation->store,
        .log = &keeping->log,
        .environment = invocation->environment,
        .signals = &invocation->signals,
        .config_path = options->config.path,
        .paths = options->operands,
        .path_count = (size_t)options->operand_count,
    };
    code = keep(keeping, &spec, &table);
    dispose(keeping);
    return code;
}
