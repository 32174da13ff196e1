/* SPDX-License-Identifier: ISC */
#include "loop/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#define THREADS_MOST 8

static void wait_for_end(void *end)
{
    uv_sem_wait(end);
}

/* All at once, as libuv will have them. */
static int try_threads(int thread_count)
{
    uv_thread_t threads[THREADS_MOST];
    uv_sem_t end;
    int made_count = 0;
    int rc = uv_sem_init(&end, 0);
    if (rc != 0)
        return rc;
    while (rc == 0 && made_count < thread_count) {
        rc = uv_thread_create(&threads[made_count], wait_for_end, &end);
        made_count += rc == 0;
    }
    for (int i = 0; i < made_count; i++)
        uv_sem_post(&end);
    for (int i = 0; i < made_count; i++)
        uv_thread_join(&threads[i]);
    uv_sem_destroy(&end);
    return rc;
}

/* What another has settled: a module of a store has this file too. */
static int settled_count(void)
{
    const char *number = getenv("UV_THREADPOOL_SIZE");
    return number == NULL ? 0 : atoi(number);
}

bool pool_prepare(int thread_count, struct error *err)
{
    static bool is_prepared; /* the threads are the process's */
    char number[12];
    if (is_prepared)
        return true;
    int before = settled_count();
    thread_count = thread_count < before ? before : thread_count;
    thread_count = thread_count < 1 ? 1 : thread_count > THREADS_MOST ? THREADS_MOST : thread_count;
    int rc = try_threads(thread_count);
    if (rc != 0)
        return error_set(err, ERROR_SYSTEM,
                         "no thread can be made (a limit on processes or memory: ulimit -u, "
                         "ulimit -v, or of the cgroup): %s",
                         uv_strerror(rc));
    snprintf(number, sizeof number, "%d", thread_count);
    setenv("UV_THREADPOOL_SIZE", number, 1); /* the command has the environment from before */
    is_prepared = true;
    return true;
}
