/* SPDX-License-Identifier: ISC */
/* SQLite's calls block, so each request becomes a job in libuv's thread pool. One job is there at a
 * time; a request that comes while a forgotten one is still being worked on waits for it. */
#include "base/mem.h"
#include "base/now.h"
#include "build_id.h"
#include "loop/handles.h"
#include "loop/pool.h"
#include "store/sqlite/sqlite_job.h"
#include "store/sqlite/sqlite_ops.h"
#include "store/store_backend.h"

#include <stdlib.h>

struct state {
    uv_loop_t *loop;
    struct store_backend_hooks hooks;
    struct sqlite_link link; /* the job's while there is one */
    struct sqlite_job *job;
    struct store_request *waiting; /* not sent yet: a forgotten job is in the way */
    uv_timer_t last;               /* its closing makes ours asynchronous */
    struct handles handles;
    bool is_closing;
};

static void start(struct state *state, struct store_request *request);

static void on_closed(struct handles *handles)
{
    struct state *state =
        (struct state *)(void *)((char *)handles - offsetof(struct state, handles));
    struct store_backend_hooks hooks = state->hooks;
    free(state);
    hooks.closed(hooks.store);
}

static void finish_close(struct state *state)
{
    sqlite_link_done(&state->link);
    state->handles.closed = on_closed;
    handles_close(&state->handles, (uv_handle_t *)&state->last);
}

static void tell_notes(struct state *state)
{
    for (size_t i = 0; i < state->link.note_count; i++)
        state->hooks.note(state->hooks.store, true, state->link.notes[i]);
    sqlite_link_clear_notes(&state->link);
}

static void work(uv_work_t *work)
{
    struct sqlite_job *job = work->data;
    struct state *state = job->copy.owner;
    state->link.is_given_up = &job->is_given_up;
    sqlite_ops_serve(&state->link, &job->copy);
    state->link.is_given_up = NULL;
}

static void after_work(uv_work_t *work, int status)
{
    struct sqlite_job *job = work->data;
    struct state *state = job->copy.owner;
    bool is_wanted = job->request != NULL;
    state->job = NULL;
    if (is_wanted)
        sqlite_job_answer(job);
    sqlite_job_free(job);
    if (state->is_closing) {
        finish_close(state);
        return;
    }
    tell_notes(state);
    if (is_wanted) {
        state->hooks.answered(state->hooks.store);
    } else if (state->waiting != NULL) {
        struct store_request *request = state->waiting;
        state->waiting = NULL;
        start(state, request);
    }
}

static void fail(struct state *state, struct store_request *request, const struct error *why)
{
    request->outcome = STORE_FAILED;
    request->failure = FAILURE_UNREACHABLE;
    request->error = *why;
    state->hooks.answered(state->hooks.store);
}

static void start(struct state *state, struct store_request *request)
{
    struct error err;
    if (!pool_prepare(1, &err)) {
        fail(state, request, &err);
        return;
    }
    request->sent_boot_ms = now_boot_ms();
    state->job = sqlite_job_new(request);
    state->job->copy.owner = state;
    state->job->work.data = state->job;
    uv_queue_work(state->loop, &state->job->work, work, after_work);
}

static bool open_store(uv_loop_t *loop, const struct store_config *config,
                       const struct store_backend_hooks *hooks, void **ret_state, struct error *err)
{
    struct sqlite_file file;
    if (!sqlite_file_resolve(config->url, &file, err))
        return false;
    struct state *state = mem_alloc(sizeof *state);
    state->loop = loop;
    state->hooks = *hooks;
    sqlite_link_init(&state->link, &file);
    uv_timer_init(loop, &state->last);
    *ret_state = state;
    return true;
}

static void serve(void *owner, struct store_request *request)
{
    struct state *state = owner;
    if (state->job == NULL)
        start(state, request);
    else
        state->waiting = request;
}

static void forget_job(void *owner)
{
    struct state *state = owner;
    if (state->waiting != NULL) {
        state->waiting = NULL;
    } else if (state->job != NULL) {
        state->job->request = NULL;
        atomic_store(&state->job->is_given_up, true);
    }
}

static void close_store(void *owner)
{
    struct state *state = owner;
    state->waiting = NULL;
    state->is_closing = true;
    forget_job(state);
    if (state->job == NULL)
        finish_close(state);
}

static char *print_nothing(const struct store_config *config, struct error *err)
{
    error_set(err, ERROR_USAGE,
              "this store needs no SQL from a person: it is created on first use");
    return NULL;
}

__attribute__((visibility("default"))) const struct store_backend store_backend_v1 = {
    .build_id = BUILD_ID,
    .open = open_store,
    .serve = serve,
    .forget = forget_job,
    .close = close_store,
    .print_sql = print_nothing,
};
