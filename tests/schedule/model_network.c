/* SPDX-License-Identifier: ISC */
/* The way to the store and back: slow at times, and it loses requests and replies. */
#include "base/list.h"
#include "base/mem.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

static struct {
    int64_t from_ms, to_ms;
} outages[256];
static size_t outage_count;
static struct store *stores; /* that are open */
static int lost_count;       /* replies */

/* ---- the way there and back --------------------------------------------------------------------
 */

struct store {
    struct store_listener listener;
    struct replica *replica;
    bool is_lost, is_closed;
    store_closed_cb closed;
    void *closed_owner;
    struct store *next;
};

/* A request under way. What it carries is copied: who asked may have given up when it arrives. */
struct trip {
    struct store *store;
    struct store_request *request; /* NULL: nobody waits for it any more */
    enum store_kind kind;
    union {
        struct claim_item claim;
        struct renew_item renew;
        struct release_item release;
    } item;
    char key[32], holder[IDENTITY_HOLDER_MAX], run_id[IDENTITY_RUN_ID_MAX],
        fingerprint[FINGERPRINT_MAX], job[32];
    int64_t give_up_ms, not_after_ms;
    bool is_reply_lost;
    int event_count; /* that will name it */
    struct list node;
};
static struct list trips;

static void trip_at(int64_t at_ms, struct replica *replica, void (*fn)(void *argument),
                    struct trip *trip)
{
    trip->event_count++;
    world_at(at_ms, replica, fn, trip);
}

static void trip_done(struct trip *trip)
{
    if (--trip->event_count > 0 || trip->request != NULL)
        return;
    list_remove(&trip->node);
    free(trip);
}

static void point_at_copies(struct trip *trip)
{
    struct claim_item *item = &trip->item.claim;
    if (trip->kind == STORE_CLAIM) {
        snprintf(trip->job, sizeof trip->job, "%s", item->job);
        snprintf(trip->fingerprint, sizeof trip->fingerprint, "%s",
                 item->fingerprint == NULL ? "" : item->fingerprint);
        snprintf(trip->key, sizeof trip->key, "%s", item->key);
        snprintf(trip->holder, sizeof trip->holder, "%s", item->holder);
        snprintf(trip->run_id, sizeof trip->run_id, "%s", item->run_id);
        item->key = trip->key;
        item->holder = trip->holder;
        item->run_id = trip->run_id;
        item->job = trip->job;
        item->fingerprint = item->fingerprint == NULL ? NULL : trip->fingerprint;
    } else if (trip->kind == STORE_RENEW) {
        snprintf(trip->key, sizeof trip->key, "%s", trip->item.renew.key);
        snprintf(trip->holder, sizeof trip->holder, "%s", trip->item.renew.holder);
        trip->item.renew.key = trip->key;
        trip->item.renew.holder = trip->holder;
    } else if (trip->kind == STORE_RELEASE || trip->kind == STORE_UNDO) {
        snprintf(trip->key, sizeof trip->key, "%s", trip->item.release.key);
        snprintf(trip->holder, sizeof trip->holder, "%s", trip->item.release.holder);
        snprintf(trip->run_id, sizeof trip->run_id, "%s", trip->item.release.run_id);
        trip->item.release.key = trip->key;
        trip->item.release.holder = trip->holder;
        trip->item.release.run_id = trip->run_id;
    }
}

static void answer(struct trip *trip, enum store_outcome outcome)
{
    struct store_request *request = trip->request;
    trip->request = NULL;
    if (request == NULL || trip->store->is_closed)
        return;
    request->outcome = outcome;
    if (outcome == STORE_FAILED) {
        error_set(&request->error, ERROR_STORE, "no answer");
        request->failure = FAILURE_UNREACHABLE;
    }
    request->done(request);
}

/* The answer's own members, for the pointers of the question stay the asker's. */
static void bring_answer(struct trip *trip)
{
    struct store_request *request = trip->request;
    if (request == NULL)
        return;
    if (trip->kind == STORE_CLAIM) {
        struct claim_item *to = request->u.claim.items;
        struct claim_item from = trip->item.claim;
        from.key = to->key;
        from.holder = to->holder;
        from.run_id = to->run_id;
        from.job = to->job;
        from.fingerprint = to->fingerprint;
        *to = from;
    } else if (trip->kind == STORE_RENEW) {
        request->u.renew.items->verdict = trip->item.renew.verdict;
        request->u.renew.items->reason = trip->item.renew.reason;
    } else if (trip->kind == STORE_RELEASE || trip->kind == STORE_UNDO) {
        request->u.release.items->verdict = trip->item.release.verdict;
    }
}

static void on_reply(void *argument)
{
    struct trip *trip = argument;
    bring_answer(trip);
    if (trip->kind == STORE_CLAIM && trip->request != NULL && !trip->store->is_closed)
        model_store_note_heard(&trip->item.claim);
    answer(trip, STORE_ANSWERED);
    trip_done(trip);
}

static void serve(struct trip *trip)
{
    switch ((int)trip->kind) {
    case STORE_CLAIM:
        model_store_claim(&trip->item.claim, trip->not_after_ms, trip->store->replica);
        break;
    case STORE_RENEW:
        model_store_renew(&trip->item.renew);
        break;
    case STORE_RELEASE:
    case STORE_UNDO:
        model_store_give_back(&trip->item.release, trip->kind == STORE_UNDO);
        break;
    case STORE_RECALL:
        for (size_t i = 0; trip->request != NULL && i < trip->request->u.recall.count; i++)
            model_store_recall(&trip->request->u.recall.items[i]);
        break;
    default:
        break;
    }
}

static void on_arrival(void *argument)
{
    struct trip *trip = argument;
    if (model_network_was_up(world.now_ms, world.now_ms)) {
        serve(trip);
        lost_count += trip->is_reply_lost;
        if (!trip->is_reply_lost)
            trip_at(world.now_ms + world_chance(0, 20), trip->store->replica, on_reply, trip);
    }
    trip_done(trip);
}

static void on_limit(void *argument)
{
    struct trip *trip = argument;
    if (trip->request != NULL && world.now_ms >= trip->give_up_ms)
        answer(trip, STORE_FAILED);
    trip_done(trip);
}

static void on_refused(void *argument)
{
    answer(argument, STORE_FAILED);
    trip_done(argument);
}

static void on_cancelled(void *argument)
{
    answer(argument, STORE_CANCELLED);
    trip_done(argument);
}

void store_submit(struct store *store, struct store_request *request)
{
    struct trip *trip = mem_alloc(sizeof *trip);
    *trip = (struct trip){.store = store,
                          .request = request,
                          .kind = request->kind,
                          .give_up_ms = world.now_ms + request->limit_ms,
                          .not_after_ms = world.now_ms + request->limit_ms,
                          .is_reply_lost = world_happens(3)};
    list_push(&trips, &trip->node);
    request->error = (struct error){.kind = ERROR_NONE};
    request->failure = FAILURE_NONE;
    request->sent_boot_ms = 0;
    if (request->kind == STORE_CLAIM)
        trip->item.claim = *request->u.claim.items;
    else if (request->kind == STORE_RENEW)
        trip->item.renew = *request->u.renew.items;
    else if (request->kind == STORE_RELEASE || request->kind == STORE_UNDO)
        trip->item.release = *request->u.release.items;
    point_at_copies(trip);
    trip_at(trip->give_up_ms, store->replica, on_limit, trip);
    if (!model_network_was_up(world.now_ms, world.now_ms)) {
        if (world_happens(500))
            trip_at(world.now_ms + world_chance(1, 50), store->replica, on_refused, trip);
        return;
    }
    request->sent_boot_ms = now_boot_ms();
    bool is_lost = world_happens(3);
    int64_t late_ms = world_happens(5) ? world_chance(20, 6000) : world_chance(0, 20);
    if (!is_lost)
        trip_at(world.now_ms + late_ms, NULL, on_arrival, trip);
}

static struct trip *find_trip(const struct store_request *request)
{
    for (struct list *at = trips.next; at != &trips; at = at->next)
        if (LIST_OBJECT(at, struct trip, node)->request == request)
            return LIST_OBJECT(at, struct trip, node);
    return NULL;
}

void store_cancel(struct store *store, struct store_request *request)
{
    struct trip *trip = find_trip(request);
    if (trip != NULL && request->sent_boot_ms == 0)
        trip_at(world.now_ms, store->replica, on_cancelled, trip);
}

void store_hasten(struct store *store, struct store_request *request, int64_t ms)
{
    struct trip *trip = find_trip(request);
    if (trip == NULL || world.now_ms + ms >= trip->give_up_ms)
        return;
    trip->give_up_ms = world.now_ms + ms;
    trip_at(trip->give_up_ms, store->replica, on_limit, trip);
}

bool store_open(uv_loop_t *loop, const struct store_config *config,
                const struct store_listener *listener, struct store **ret_store, struct error *err)
{
    struct store *store = mem_alloc(sizeof *store);
    *store = (struct store){.listener = *listener, .replica = world.current, .next = stores};
    stores = store;
    *ret_store = store;
    return true;
}

static void on_store_closed(void *argument)
{
    struct store *store = argument;
    if (store->closed != NULL)
        store->closed(store->closed_owner);
}

void store_close(struct store *store, store_closed_cb closed, void *owner)
{
    for (struct list *at = trips.next; at != &trips; at = at->next)
        if (LIST_OBJECT(at, struct trip, node)->store == store)
            answer(LIST_OBJECT(at, struct trip, node), STORE_CANCELLED);
    store->is_closed = true;
    store->closed = closed;
    store->closed_owner = owner;
    world_at(world.now_ms, store->replica, on_store_closed, store);
}

bool store_print_sql(const struct store_config *config, char **ret_sql, struct error *err)
{
    return false;
}

/* ---- outages -----------------------------------------------------------------------------------
 */

bool model_network_was_up(int64_t from_ms, int64_t to_ms)
{
    for (size_t i = 0; i < outage_count; i++)
        if (outages[i].from_ms <= to_ms && outages[i].to_ms > from_ms)
            return false;
    return true;
}

static void tell_lost(void *argument)
{
    struct store *store = argument;
    struct error why;
    error_set(&why, ERROR_STORE, "the server is gone");
    if (store->is_closed || store->is_lost || model_network_was_up(world.now_ms, world.now_ms))
        return;
    store->is_lost = true;
    if (store->listener.lost != NULL)
        store->listener.lost(store->listener.owner, &why);
}

static void tell_restored(void *argument)
{
    struct store *store = argument;
    if (store->is_closed || !store->is_lost || !model_network_was_up(world.now_ms, world.now_ms))
        return;
    store->is_lost = false;
    if (store->listener.restored != NULL)
        store->listener.restored(store->listener.owner);
}

static void tell_all_lost(void *unused)
{
    for (struct store *store = stores; store != NULL; store = store->next)
        if (!store->is_closed)
            world_at(world.now_ms + world_chance(0, 500), store->replica, tell_lost, store);
}

static void tell_all_restored(void *unused)
{
    for (struct store *store = stores; store != NULL; store = store->next)
        if (!store->is_closed)
            world_at(world.now_ms + world_chance(1, 900), store->replica, tell_restored, store);
}

void model_network_outage(int64_t from_ms, int64_t for_ms)
{
    assert_true(outage_count < CASE_COUNT(outages));
    outages[outage_count].from_ms = from_ms;
    outages[outage_count++].to_ms = from_ms + for_ms;
    world_at(from_ms, NULL, tell_all_lost, NULL);
    world_at(from_ms + for_ms, NULL, tell_all_restored, NULL);
}

void model_network_crash(struct replica *replica)
{
    for (struct list *at = trips.next; at != &trips; at = at->next)
        if (LIST_OBJECT(at, struct trip, node)->store->replica == replica)
            LIST_OBJECT(at, struct trip, node)->request = NULL;
    for (struct store *store = stores; store != NULL; store = store->next)
        if (store->replica == replica)
            store->is_closed = true;
}

void model_network_reset(void)
{
    if (trips.next == NULL)
        list_init(&trips);
    while (!list_is_empty(&trips)) {
        struct trip *trip = LIST_OBJECT(trips.next, struct trip, node);
        list_remove(&trip->node);
        free(trip);
    }
    while (stores != NULL) {
        struct store *store = stores;
        stores = store->next;
        free(store);
    }
    outage_count = 0;
    lost_count = 0;
}

int model_network_lost_count(void)
{
    return lost_count;
}
