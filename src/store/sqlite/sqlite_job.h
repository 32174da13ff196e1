/* SPDX-License-Identifier: ISC */
/* A request as a thread of the pool serves it: its own copy of all that the caller's points to,
 * so that the caller may forget, and free, its own at any time. */
#pragma once
#include "store/store.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

struct sqlite_job {
    uv_work_t work;
    struct store_request *request; /* the caller's; NULL once forgotten. The loop's alone */
    atomic_bool is_given_up;       /* the same for the thread */
    struct store_request copy;     /* the thread's while it works */
    char **strings;                /* that copy points to */
    size_t string_count;
};

struct sqlite_job *sqlite_job_new(struct store_request *request);
void sqlite_job_answer(struct sqlite_job *job); /* moves the answer into the caller's request */
void sqlite_job_free(struct sqlite_job *job);   /* with an answer that was not moved */
