/* SPDX-License-Identifier: ISC */
#include "fake_store.h"

#include "base/list.h"
#include "base/mem.h"
#include "check.h"
#include "journal.h"
#include "loop/alarm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct store {
    struct store_listener listener;
    struct store_request *first; /* waiting; the one being served is not among them */
    struct store_request *serving;
    struct store_request *cancelled; /* to be called back from the loop */
    struct fake_answer answer;       /* to the one being served */
    struct alarm turn, step, limit;
    struct handles handles;
    store_closed_cb closed;
    void *closed_owner;
};

static struct {
    struct store *store;
    const char *open_fault;
    struct {
        const struct fake_answer *answers;
        size_t count, used;
        struct store_request last;
        struct claim_item last_claim;
        struct release_item last_release;
    } kinds[STORE_KIND_COUNT];
} fake;

/* ---- the script ---------------------------------------------------------------------------- */

void fake_store_reset(const char *open_fault)
{
    memset(&fake, 0, sizeof fake);
    fake.open_fault = open_fault;
}

void fake_store_answers(enum store_kind kind, const struct fake_answer *answers, size_t count)
{
    fake.kinds[kind].answers = answers;
    fake.kinds[kind].count = count;
    fake.kinds[kind].used = 0;
}

static struct fake_answer take_answer(enum store_kind kind)
{
    size_t used = fake.kinds[kind].used;
    if (used == fake.kinds[kind].count)
        fail_msg("no answer is scripted for this request:\n%s", journal_text());
    const struct fake_answer *answer = &fake.kinds[kind].answers[used];
    if (!answer->is_repeated)
        fake.kinds[kind].used++;
    return *answer;
}

static void note_request(const struct store_request *request)
{
    fake.kinds[request->kind].last = *request;
    const struct release_item *end = request->u.release.items;
    switch (request->kind) {
    case STORE_CLAIM:
        fake.kinds[request->kind].last_claim = *request->u.claim.items;
        journal_add("claim #%d within %" PRId64, request->u.claim.items->attempt,
                    request->limit_ms);
        return;
    case STORE_RENEW:
        journal_add("renew within %" PRId64, request->limit_ms);
        return;
    case STORE_RELEASE:
        fake.kinds[request->kind].last_release = *end;
        journal_add("release %s %d within %" PRId64, run_outcome_name(end->outcome), end->status,
                    request->limit_ms);
        return;
    case STORE_UNDO:
    case STORE_FREE:
        fake.kinds[request->kind].last_release = *end;
        journal_add("%s within %" PRId64, request->kind == STORE_UNDO ? "undo" : "free",
                    request->limit_ms);
        return;
    case STORE_REVOKE:
    case STORE_STATUS:
    case STORE_HISTORY:
    case STORE_RECALL:
    case STORE_PURGE:
    case STORE_FORGET:
    case STORE_INIT:
    case STORE_INSPECT:
    case STORE_KIND_COUNT:
        break;
    }
    fail_msg("a run never asks this of a store");
}

const struct store_request *fake_store_last(enum store_kind kind)
{
    return &fake.kinds[kind].last;
}

const struct claim_item *fake_store_last_claim(void)
{
    return &fake.kinds[STORE_CLAIM].last_claim;
}

const struct release_item *fake_store_last_release(enum store_kind kind)
{
    return &fake.kinds[kind].last_release;
}

/* ---- answers ------------------------------------------------------------------------------- */

static void copy_text(char *to, size_t room, const char *from)
{
    snprintf(to, room, "%s", from == NULL ? "" : from);
}

static void fill_claim(struct claim_item *item, const struct fake_answer *answer)
{
    item->verdict = answer->claim;
    item->fence = answer->fence;
    item->wait_ms = answer->wait_ms;
    item->is_first_to_tell = answer->is_first_to_tell;
    item->abandoned_fence = answer->abandoned == NULL ? 0 : answer->fence - 1;
    copy_text(item->other, sizeof item->other, answer->other);
    copy_text(item->abandoned, sizeof item->abandoned, answer->abandoned);
}

static void fill_answer(struct store_request *request, const struct fake_answer *answer)
{
    if (request->kind == STORE_CLAIM) {
        fill_claim(request->u.claim.items, answer);
    } else if (request->kind == STORE_RENEW) {
        request->u.renew.items->verdict = answer->renew;
        request->u.renew.items->reason = answer->reason;
        copy_text(request->u.renew.items->other, sizeof request->u.renew.items->other,
                  answer->other);
    } else {
        request->u.release.items->verdict = answer->release;
        request->u.release.items->is_recorded = answer->release == RELEASE_RELEASED;
    }
}

static void call_back(struct store_request *request, enum store_outcome outcome)
{
    request->outcome = outcome;
    request->answered_boot_ms = now_boot_ms();
    request->done(request);
}

static void end_serving(struct store *store)
{
    store->serving = NULL;
    alarm_stop(&store->step);
    alarm_set_in(&store->turn, 0);
}

static void fail_request(struct store_request *request, enum store_failure failure,
                         const char *fault)
{
    request->failure = failure;
    error_set(&request->error, ERROR_STORE, "%s", fault);
}

static void arm_limit(struct store *store)
{
    int64_t earliest = store->serving == NULL ? INT64_MAX : store->serving->give_up_boot_ms;
    for (struct store_request *r = store->first; r != NULL; r = r->next)
        if (r->give_up_boot_ms < earliest)
            earliest = r->give_up_boot_ms;
    if (earliest == INT64_MAX)
        alarm_stop(&store->limit);
    else
        alarm_set_at(&store->limit, earliest);
}

/* The request leaves, or is answered. */
static void on_step(struct alarm *alarm)
{
    struct store *store = LIST_OBJECT(alarm, struct store, step);
    struct store_request *request = store->serving;
    const struct fake_answer *answer = &store->answer;
    if (request->sent_boot_ms == 0 && !answer->is_unsent) {
        request->sent_boot_ms = now_boot_ms();
        if (answer->fate != FAKE_SILENT)
            alarm_set_in(&store->step, answer->after_ms);
        return;
    }
    if (answer->fate == FAKE_SILENT)
        return;
    end_serving(store);
    if (answer->fate == FAKE_ANSWERS)
        fill_answer(request, answer);
    else
        fail_request(request, answer->failure, answer->fault);
    arm_limit(store);
    call_back(request, answer->fate == FAKE_ANSWERS ? STORE_ANSWERED : STORE_FAILED);
}

static void serve_next(struct store *store)
{
    if (store->serving != NULL || store->first == NULL)
        return;
    store->serving = store->first;
    store->first = store->first->next;
    store->answer = take_answer(store->serving->kind);
    const struct fake_answer *answer = &store->answer;
    if (answer->is_unsent)
        alarm_set_in(&store->step, answer->after_ms);
    else
        alarm_set_in(&store->step, answer->connecting_ms);
}

static void on_turn(struct alarm *alarm)
{
    struct store *store = LIST_OBJECT(alarm, struct store, turn);
    while (store->cancelled != NULL) {
        struct store_request *request = store->cancelled;
        store->cancelled = request->next;
        call_back(request, STORE_CANCELLED);
    }
    serve_next(store);
}

/* ---- the queue ----------------------------------------------------------------------------- */

static void take_out(struct store *store, struct store_request *request)
{
    if (request == store->serving) {
        end_serving(store);
        return;
    }
    for (struct store_request **at = &store->first; *at != NULL; at = &(*at)->next) {
        if (*at == request) {
            *at = request->next;
            alarm_set_in(&store->turn, 0);
            return;
        }
    }
    fail_msg("this request is not with the store");
}

static struct store_request *find_overdue(struct store *store)
{
    if (store->serving != NULL && store->serving->give_up_boot_ms <= now_boot_ms())
        return store->serving;
    for (struct store_request *r = store->first; r != NULL; r = r->next)
        if (r->give_up_boot_ms <= now_boot_ms())
            return r;
    return NULL;
}

static void on_limit(struct alarm *alarm)
{
    struct store *store = LIST_OBJECT(alarm, struct store, limit);
    for (struct store_request *r; (r = find_overdue(store)) != NULL;) {
        take_out(store, r);
        fail_request(r, FAILURE_UNREACHABLE, "the store gave no answer in time");
        call_back(r, STORE_FAILED);
    }
    arm_limit(store);
}

void store_submit(struct store *store, struct store_request *request)
{
    assert_ptr_equal(store, fake.store);
    assert_true(request->limit_ms > 0);
    assert_non_null(request->done);
    note_request(request);
    request->next = NULL;
    request->error = (struct error){.kind = ERROR_NONE};
    request->failure = FAILURE_NONE;
    request->sent_boot_ms = 0;
    request->give_up_boot_ms = now_boot_ms() + request->limit_ms;
    struct store_request **last = &store->first;
    while (*last != NULL)
        last = &(*last)->next;
    *last = request;
    arm_limit(store);
    alarm_set_in(&store->turn, 0);
}

void store_cancel(struct store *store, struct store_request *request)
{
    if (request->sent_boot_ms != 0)
        return;
    take_out(store, request);
    request->next = store->cancelled;
    store->cancelled = request;
    arm_limit(store);
}

void store_hasten(struct store *store, struct store_request *request, int64_t ms)
{
    int64_t soon = now_boot_ms() + ms;
    if (soon < request->give_up_boot_ms)
        request->give_up_boot_ms = soon;
    arm_limit(store);
}

/* ---- open and close ------------------------------------------------------------------------ */

bool store_open(uv_loop_t *loop, const struct store_config *config,
                const struct store_listener *listener, struct store **ret_store, struct error *err)
{
    if (fake.open_fault != NULL)
        return error_set(err, ERROR_CONFIG, "%s", fake.open_fault);
    struct store *store = mem_alloc(sizeof *store);
    if (listener != NULL)
        store->listener = *listener;
    alarm_init(&store->turn, loop, on_turn);
    alarm_init(&store->step, loop, on_step);
    alarm_init(&store->limit, loop, on_limit);
    fake.store = store;
    *ret_store = store;
    return true;
}

static void free_store(struct handles *handles)
{
    struct store *store = LIST_OBJECT(handles, struct store, handles);
    store_closed_cb closed = store->closed;
    void *owner = store->closed_owner;
    fake.store = NULL;
    free(store);
    if (closed != NULL)
        closed(owner);
}

void store_close(struct store *store, store_closed_cb closed, void *owner)
{
    store->closed = closed;
    store->closed_owner = owner;
    while (store->serving != NULL || store->first != NULL) {
        struct store_request *request = store->serving != NULL ? store->serving : store->first;
        take_out(store, request);
        call_back(request, STORE_CANCELLED);
    }
    store->handles.closed = free_store;
    alarm_close(&store->turn, &store->handles);
    alarm_close(&store->step, &store->handles);
    alarm_close(&store->limit, &store->handles);
}

bool fake_store_is_open(void)
{
    return fake.store != NULL;
}

void fake_store_lose(const char *fault)
{
    struct error why;
    error_set(&why, ERROR_STORE, "%s", fault);
    fake.store->listener.lost(fake.store->listener.owner, &why);
}

void fake_store_restore(void)
{
    fake.store->listener.restored(fake.store->listener.owner);
}

void fake_store_note(const char *text)
{
    fake.store->listener.note(fake.store->listener.owner, false, text);
}
