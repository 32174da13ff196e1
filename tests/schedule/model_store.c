/* SPDX-License-Identifier: ISC */
/* The store of the world: the verdicts of store.h by a clock of its own, behind a network that is
 * slow, loses requests and loses replies. */
#include "base/list.h"
#include "base/mem.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- what is kept -----------------------------------------------------------------------------
 */

struct lease_of_key {
    char key[32], holder[IDENTITY_HOLDER_MAX], run_id[IDENTITY_RUN_ID_MAX];
    int64_t fence, expires_us, slot_us, written_us;
    int attempt;
    bool is_released;
    char fingerprint[FINGERPRINT_MAX];
};

struct model_run *model_runs;
size_t model_run_count;
static size_t run_room;
static struct lease_of_key leases[32];
static size_t lease_count;
static int64_t last_fence, skew_us;
static struct {
    int64_t from_ms, to_ms;
} outages[256];
static size_t outage_count;
static struct store *stores; /* that are open */

static int64_t clock_us(void)
{
    return WORLD_EPOCH_US + world.now_ms * 1000 + skew_us;
}

static struct lease_of_key *find_lease(const char *key)
{
    for (size_t i = 0; i < lease_count; i++)
        if (strcmp(leases[i].key, key) == 0)
            return &leases[i];
    return NULL;
}

/* Only the newest are asked for: those of some ten days. */
static size_t oldest_in_use(void)
{
    return model_run_count > 8000 ? model_run_count - 8000 : 0;
}

static struct model_run *find_run(const char *run_id)
{
    for (size_t i = model_run_count; i-- > oldest_in_use();)
        if (strcmp(model_runs[i].run_id, run_id) == 0 && !model_runs[i].is_undone)
            return &model_runs[i];
    return NULL;
}

static struct model_run *find_slot(const char *key, int64_t slot_us)
{
    for (size_t i = model_run_count; i-- > oldest_in_use();)
        if (model_runs[i].slot_us == slot_us && strcmp(model_runs[i].key, key) == 0 &&
            !model_runs[i].is_undone)
            return &model_runs[i];
    return NULL;
}

static const char *keep_text(const char *text)
{
    static char *kept[64];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(kept[i], text) == 0)
            return kept[i];
    assert_true(count < CASE_COUNT(kept));
    return kept[count++] = mem_strdup(text);
}

static void add_run(const struct claim_item *item, int64_t fence, enum run_outcome outcome)
{
    if (model_run_count == run_room) {
        run_room = run_room == 0 ? 1024 : run_room * 2;
        model_runs = mem_grow(model_runs, run_room, sizeof *model_runs);
    }
    struct model_run *run = &model_runs[model_run_count++];
    *run = (struct model_run){.key = keep_text(item->key),
                              .job = keep_text(item->job),
                              .slot_us = item->slot_us,
                              .fence = fence,
                              .outcome = outcome};
    snprintf(run->run_id, sizeof run->run_id, "%s", item->run_id);
    snprintf(run->holder, sizeof run->holder, "%s", item->holder);
}

/* ---- verdicts ---------------------------------------------------------------------------------
 */

static bool is_not_started(enum run_outcome outcome)
{
    return outcome == OUTCOME_MISSED || outcome == OUTCOME_SKIPPED;
}

static enum claim_verdict judge_slot(const struct claim_item *item, const struct model_run *own,
                                     const struct lease_of_key *lease)
{
    const struct model_run *other = find_slot(item->key, item->slot_us);
    const struct model_run *run = own != NULL ? own : other;
    int64_t now_us = clock_us();
    if (item->slot_us > now_us + 1000000)
        return CLAIM_EARLY;
    if (run != NULL && is_not_started(run->outcome))
        return run->outcome == OUTCOME_MISSED ? CLAIM_MISSED : CLAIM_SKIPPED;
    if ((other != NULL && other != own) || (lease != NULL && lease->slot_us == item->slot_us))
        return CLAIM_DONE;
    if (item->start_within_ms >= 0 && item->slot_us + item->start_within_ms * 1000 < now_us)
        return CLAIM_MISSED;
    return CLAIM_WON;
}

static enum claim_verdict judge(const struct claim_item *item, int64_t not_after_ms)
{
    const struct lease_of_key *lease = find_lease(item->key);
    const struct model_run *own = find_run(item->run_id);
    bool is_live = lease != NULL && !lease->is_released && lease->expires_us > clock_us();
    bool is_ours = lease != NULL && strcmp(lease->holder, item->holder) == 0;
    if ((own != NULL && own->outcome != OUTCOME_NONE && !is_not_started(own->outcome)) ||
        world.now_ms > not_after_ms)
        return CLAIM_RACED;
    if (is_ours && !lease->is_released && item->attempt > lease->attempt)
        return CLAIM_WON;
    if (is_ours)
        return is_live ? CLAIM_HELD : CLAIM_RACED;
    if (item->slot_us != NO_INSTANT) {
        enum claim_verdict verdict = judge_slot(item, own, lease);
        if (verdict != CLAIM_WON)
            return verdict;
    }
    if (is_live)
        return item->is_skipping && item->slot_us != NO_INSTANT ? CLAIM_SKIPPED : CLAIM_HELD;
    return CLAIM_WON;
}

static void win(struct claim_item *item)
{
    struct lease_of_key *lease = find_lease(item->key);
    if (lease == NULL) {
        assert_true(lease_count < CASE_COUNT(leases));
        lease = &leases[lease_count++];
        *lease = (struct lease_of_key){.slot_us = NO_INSTANT};
        snprintf(lease->key, sizeof lease->key, "%s", item->key);
    }
    struct model_run *before = find_run(lease->run_id);
    struct model_run *own = find_run(item->run_id);
    if (before != NULL && before != own && before->outcome == OUTCOME_NONE) {
        before->outcome = OUTCOME_ABANDONED;
        snprintf(item->abandoned, sizeof item->abandoned, "%s", before->run_id);
    }
    snprintf(item->previous_fingerprint, sizeof item->previous_fingerprint, "%s",
             lease->fingerprint);
    item->fence = lease->fence = ++last_fence;
    snprintf(lease->holder, sizeof lease->holder, "%s", item->holder);
    snprintf(lease->run_id, sizeof lease->run_id, "%s", item->run_id);
    lease->attempt = item->attempt;
    lease->is_released = false;
    lease->written_us = clock_us();
    lease->expires_us = clock_us() + item->ttl_ms * 1000;
    if (item->slot_us != NO_INSTANT)
        lease->slot_us = item->slot_us;
    if (item->fingerprint != NULL)
        snprintf(lease->fingerprint, sizeof lease->fingerprint, "%s", item->fingerprint);
    if (own != NULL)
        own->fence = item->fence;
    else
        add_run(item, item->fence, OUTCOME_NONE);
}

static void claim(struct claim_item *item, int64_t not_after_ms)
{
    const struct lease_of_key *lease = find_lease(item->key);
    item->abandoned[0] = '\0';
    item->verdict = judge(item, not_after_ms);
    item->wait_ms = item->verdict == CLAIM_EARLY ? (item->slot_us - clock_us()) / 1000
                    : lease != NULL              ? (lease->expires_us - clock_us()) / 1000
                                                 : 0;
    snprintf(item->other, sizeof item->other, "%s", lease != NULL ? lease->holder : "");
    if (item->verdict == CLAIM_WON)
        win(item);
    if (item->verdict != CLAIM_MISSED && item->verdict != CLAIM_SKIPPED)
        return;
    const struct model_run *run = find_slot(item->key, item->slot_us);
    item->is_first_to_tell = run == NULL || strcmp(run->run_id, item->run_id) == 0;
    if (run == NULL)
        add_run(item, 0, item->verdict == CLAIM_MISSED ? OUTCOME_MISSED : OUTCOME_SKIPPED);
}

static void renew(struct renew_item *item)
{
    struct lease_of_key *lease = find_lease(item->key);
    bool is_ours =
        lease != NULL && strcmp(lease->holder, item->holder) == 0 && lease->fence == item->fence;
    item->verdict = RENEW_LOST;
    item->reason = !is_ours ? LOST_TAKEN : lease->is_released ? LOST_GONE : LOST_EXPIRED;
    if (!is_ours || lease->is_released || lease->expires_us <= clock_us())
        return;
    lease->expires_us = clock_us() + item->ttl_ms * 1000;
    item->verdict = RENEW_RENEWED;
}

static void give_back(struct release_item *item, bool is_undo)
{
    struct lease_of_key *lease = find_lease(item->key);
    struct model_run *run = find_run(item->run_id);
    bool is_ours = lease != NULL && strcmp(lease->holder, item->holder) == 0 &&
                   (lease->fence == item->fence || (is_undo && item->fence == 0));
    item->verdict = is_ours ? RELEASE_RELEASED : RELEASE_NOT_OURS;
    if (is_ours)
        lease->is_released = true;
    if (is_undo && run != NULL && run->outcome == OUTCOME_NONE) {
        run->is_undone = true;
        if (is_ours && lease->slot_us == run->slot_us)
            lease->slot_us = NO_INSTANT;
    } else if (!is_undo && run != NULL && run->fence == item->fence &&
               run->outcome == OUTCOME_NONE) {
        run->outcome = item->outcome;
    }
}

static void recall(struct recall_item *item)
{
    const struct lease_of_key *lease = find_lease(item->key);
    item->slot_us = lease == NULL ? NO_INSTANT : lease->slot_us;
    item->written_us = lease == NULL ? NO_INSTANT : lease->written_us;
    snprintf(item->fingerprint, sizeof item->fingerprint, "%s",
             lease == NULL ? "" : lease->fingerprint);
    for (size_t i = model_run_count; i-- > 0;)
        if (strcmp(model_runs[i].key, item->key) == 0 && !model_runs[i].is_undone &&
            model_runs[i].slot_us > item->slot_us)
            item->slot_us = model_runs[i].slot_us;
}

void model_store_note_start(const char *run_id)
{
    for (size_t i = model_run_count; i-- > 0;)
        if (strcmp(model_runs[i].run_id, run_id) == 0) {
            model_runs[i].start_count++;
            return;
        }
    fail_msg("a command was started without a run: %s", run_id);
}

void model_store_free_lease(const char *key, const char *holder)
{
    struct lease_of_key *lease = find_lease(key);
    if (lease != NULL && strcmp(lease->holder, holder) == 0)
        lease->is_released = true;
}

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
    answer(trip, STORE_ANSWERED);
    trip_done(trip);
}

static void serve(struct trip *trip)
{
    switch ((int)trip->kind) {
    case STORE_CLAIM:
        claim(&trip->item.claim, trip->not_after_ms);
        break;
    case STORE_RENEW:
        renew(&trip->item.renew);
        break;
    case STORE_RELEASE:
    case STORE_UNDO:
        give_back(&trip->item.release, trip->kind == STORE_UNDO);
        break;
    case STORE_RECALL:
        for (size_t i = 0; trip->request != NULL && i < trip->request->u.recall.count; i++)
            recall(&trip->request->u.recall.items[i]);
        break;
    default:
        break;
    }
}

static void on_arrival(void *argument)
{
    struct trip *trip = argument;
    if (model_store_was_up(world.now_ms, world.now_ms)) {
        serve(trip);
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
    if (!model_store_was_up(world.now_ms, world.now_ms)) {
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

bool model_store_was_up(int64_t from_ms, int64_t to_ms)
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
    if (store->is_closed || store->is_lost || model_store_was_up(world.now_ms, world.now_ms))
        return;
    store->is_lost = true;
    if (store->listener.lost != NULL)
        store->listener.lost(store->listener.owner, &why);
}

static void tell_restored(void *argument)
{
    struct store *store = argument;
    if (store->is_closed || !store->is_lost || !model_store_was_up(world.now_ms, world.now_ms))
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

void model_store_outage(int64_t from_ms, int64_t for_ms)
{
    assert_true(outage_count < CASE_COUNT(outages));
    outages[outage_count].from_ms = from_ms;
    outages[outage_count++].to_ms = from_ms + for_ms;
    world_at(from_ms, NULL, tell_all_lost, NULL);
    world_at(from_ms + for_ms, NULL, tell_all_restored, NULL);
}

void model_store_set_clock(int64_t by_us)
{
    skew_us = by_us;
}

void model_store_crash(struct replica *replica)
{
    for (struct list *at = trips.next; at != &trips; at = at->next)
        if (LIST_OBJECT(at, struct trip, node)->store->replica == replica)
            LIST_OBJECT(at, struct trip, node)->request = NULL;
    for (struct store *store = stores; store != NULL; store = store->next)
        if (store->replica == replica)
            store->is_closed = true;
}

void model_store_reset(void)
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
    model_run_count = lease_count = outage_count = 0;
    last_fence = skew_us = 0;
}
