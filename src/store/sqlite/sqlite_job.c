/* SPDX-License-Identifier: ISC */
#include "store/sqlite/sqlite_job.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const char *keep_bytes(struct sqlite_job *job, const char *bytes, size_t count)
{
    if (bytes == NULL)
        return NULL;
    if ((job->string_count & (job->string_count - 1)) == 0)
        job->strings = mem_grow(job->strings, job->string_count == 0 ? 1 : job->string_count * 2,
                                sizeof *job->strings);
    char *copy = mem_dup(bytes, count);
    job->strings[job->string_count++] = copy;
    return copy;
}

static const char *keep(struct sqlite_job *job, const char *text)
{
    return keep_bytes(job, text, text == NULL ? 0 : strlen(text));
}

static void copy_claim(struct sqlite_job *job, const struct store_request *request)
{
    size_t count = request->u.claim.count;
    struct claim_item *items = mem_array(count, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        items[i] = request->u.claim.items[i];
        items[i].key = keep(job, items[i].key);
        items[i].holder = keep(job, items[i].holder);
        items[i].run_id = keep(job, items[i].run_id);
        items[i].job = keep(job, items[i].job);
        items[i].fingerprint = keep(job, items[i].fingerprint);
    }
    job->copy.u.claim.items = items;
}

static void copy_renew(struct sqlite_job *job, const struct store_request *request)
{
    size_t count = request->u.renew.count;
    struct renew_item *items = mem_array(count, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        items[i] = request->u.renew.items[i];
        items[i].key = keep(job, items[i].key);
        items[i].holder = keep(job, items[i].holder);
    }
    job->copy.u.renew.items = items;
}

static void copy_release(struct sqlite_job *job, const struct store_request *request)
{
    size_t count = request->u.release.count;
    struct release_item *items = mem_array(count, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        items[i] = request->u.release.items[i];
        items[i].key = keep(job, items[i].key);
        items[i].holder = keep(job, items[i].holder);
        items[i].run_id = keep(job, items[i].run_id);
        items[i].output_tail = keep_bytes(job, items[i].output_tail, items[i].output_tail_length);
    }
    job->copy.u.release.items = items;
}

static void copy_recall(struct sqlite_job *job, const struct store_request *request)
{
    size_t count = request->u.recall.count;
    struct recall_item *items = mem_array(count, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        items[i].key = keep(job, request->u.recall.items[i].key);
        items[i].job = keep(job, request->u.recall.items[i].job);
        items[i].before_us = request->u.recall.items[i].before_us;
        items[i].wants_interrupted = request->u.recall.items[i].wants_interrupted;
    }
    job->copy.u.recall.items = items;
}

struct sqlite_job *sqlite_job_new(struct store_request *request)
{
    struct sqlite_job *job = mem_alloc(sizeof *job);
    job->request = request;
    job->copy = *request;
    switch (request->kind) {
    case STORE_CLAIM:
        copy_claim(job, request);
        break;
    case STORE_RENEW:
        copy_renew(job, request);
        break;
    case STORE_RELEASE:
    case STORE_UNDO:
    case STORE_FREE:
        copy_release(job, request);
        break;
    case STORE_REVOKE:
        job->copy.u.revoke.key = keep(job, request->u.revoke.key);
        break;
    case STORE_STATUS:
        job->copy.u.leases = (struct lease_list){.key = keep(job, request->u.leases.key)};
        break;
    case STORE_HISTORY:
        job->copy.u.runs.key = keep(job, request->u.runs.key);
        job->copy.u.runs.rows = NULL;
        job->copy.u.runs.count = 0;
        break;
    case STORE_RECALL:
        copy_recall(job, request);
        break;
    case STORE_PURGE:
    case STORE_FORGET:
        job->copy.u.purge.forget_key = keep(job, request->u.purge.forget_key);
        break;
    case STORE_INSPECT:
        job->copy.u.inspection = (struct inspection){.description = NULL};
        break;
    case STORE_INIT:
    case STORE_KIND_COUNT:
        break;
    }
    return job;
}

/* ---- the answer back --------------------------------------------------------------------- */

static void answer_claim(struct claim_item *to, const struct claim_item *from)
{
    struct claim_item answer = *from;
    answer.key = to->key;
    answer.holder = to->holder;
    answer.run_id = to->run_id;
    answer.job = to->job;
    answer.fingerprint = to->fingerprint;
    *to = answer;
}

static void answer_renew(struct renew_item *to, const struct renew_item *from)
{
    to->verdict = from->verdict;
    to->reason = from->reason;
    memcpy(to->other, from->other, sizeof to->other);
}

static void answer_release(struct release_item *to, const struct release_item *from)
{
    to->verdict = from->verdict;
    to->is_recorded = from->is_recorded;
}

static void answer_recall(struct recall_item *to, const struct recall_item *from)
{
    const char *key = to->key;
    const char *job = to->job;
    *to = *from;
    to->key = key;
    to->job = job;
}

static void answer_lists(struct store_request *to, struct store_request *from)
{
    if (from->kind == STORE_STATUS) {
        to->u.leases.rows = from->u.leases.rows;
        to->u.leases.count = from->u.leases.count;
        from->u.leases = (struct lease_list){.key = NULL};
    } else if (from->kind == STORE_HISTORY) {
        to->u.runs.rows = from->u.runs.rows;
        to->u.runs.count = from->u.runs.count;
        to->u.runs.oldest_slot_us = from->u.runs.oldest_slot_us;
        from->u.runs = (struct run_list){.key = NULL};
    } else {
        to->u.inspection = from->u.inspection;
        from->u.inspection = (struct inspection){.description = NULL};
    }
}

static void answer_rest(struct store_request *to, const struct store_request *from)
{
    const char *key = to->u.revoke.key;
    const char *forget_key = to->u.purge.forget_key;
    if (from->kind == STORE_REVOKE) {
        to->u.revoke = from->u.revoke;
        to->u.revoke.key = key;
    } else if (from->kind == STORE_INIT) {
        to->u.init = from->u.init;
    } else {
        to->u.purge = from->u.purge;
        to->u.purge.forget_key = forget_key;
    }
}

void sqlite_job_answer(struct sqlite_job *job)
{
    struct store_request *to = job->request;
    struct store_request *from = &job->copy;
    to->outcome = from->outcome;
    to->failure = from->failure;
    to->error = from->error;
    if (from->outcome != STORE_ANSWERED)
        return;
    switch (from->kind) {
    case STORE_CLAIM:
        for (size_t i = 0; i < from->u.claim.count; i++)
            answer_claim(&to->u.claim.items[i], &from->u.claim.items[i]);
        break;
    case STORE_RENEW:
        for (size_t i = 0; i < from->u.renew.count; i++)
            answer_renew(&to->u.renew.items[i], &from->u.renew.items[i]);
        break;
    case STORE_RELEASE:
    case STORE_UNDO:
    case STORE_FREE:
        for (size_t i = 0; i < from->u.release.count; i++)
            answer_release(&to->u.release.items[i], &from->u.release.items[i]);
        break;
    case STORE_STATUS:
    case STORE_HISTORY:
    case STORE_INSPECT:
        answer_lists(to, from);
        break;
    case STORE_RECALL:
        for (size_t i = 0; i < from->u.recall.count; i++)
            answer_recall(&to->u.recall.items[i], &from->u.recall.items[i]);
        break;
    case STORE_REVOKE:
    case STORE_PURGE:
    case STORE_FORGET:
    case STORE_INIT:
    case STORE_KIND_COUNT:
        answer_rest(to, from);
        break;
    }
}

static void free_items(struct store_request *copy)
{
    switch (copy->kind) {
    case STORE_CLAIM:
        free(copy->u.claim.items);
        break;
    case STORE_RENEW:
        free(copy->u.renew.items);
        break;
    case STORE_RELEASE:
    case STORE_UNDO:
    case STORE_FREE:
        free(copy->u.release.items);
        break;
    case STORE_RECALL:
        free(copy->u.recall.items);
        break;
    case STORE_STATUS:
    case STORE_HISTORY:
    case STORE_INSPECT:
        store_request_clear(copy);
        break;
    case STORE_REVOKE:
    case STORE_PURGE:
    case STORE_FORGET:
    case STORE_INIT:
    case STORE_KIND_COUNT:
        break;
    }
}

void sqlite_job_free(struct sqlite_job *job)
{
    free_items(&job->copy);
    for (size_t i = 0; i < job->string_count; i++)
        free(job->strings[i]);
    free(job->strings);
    free(job);
}
