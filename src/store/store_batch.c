/* SPDX-License-Identifier: ISC */
#include "store/store_batch.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- kinds ------------------------------------------------------------------------------- */

static bool takes_over(const struct store_request *request)
{
    return request->u.claim.count == 1 && request->u.claim.items[0].interrupted_fence != 0;
}

static bool is_batchable(const struct store_request *request)
{
    if (request->kind == STORE_CLAIM && takes_over(request))
        return false;
    return !request->is_alone && (request->kind == STORE_CLAIM || request->kind == STORE_RENEW ||
                                  request->kind == STORE_RELEASE || request->kind == STORE_UNDO);
}

static bool has_keys(const struct store_request *request)
{
    return request->kind <= STORE_FREE;
}

/* The items of any of the kinds, by their size. */
struct items {
    char *first;
    size_t count;
    size_t bytes;
};

static struct items items_of(const struct store_request *request)
{
    if (request->kind == STORE_CLAIM)
        return (struct items){.first = (char *)request->u.claim.items,
                              .count = request->u.claim.count,
                              .bytes = sizeof(struct claim_item)};
    if (request->kind == STORE_RENEW)
        return (struct items){.first = (char *)request->u.renew.items,
                              .count = request->u.renew.count,
                              .bytes = sizeof(struct renew_item)};
    return (struct items){.first = (char *)request->u.release.items,
                          .count = request->u.release.count,
                          .bytes = sizeof(struct release_item)};
}

static void make_items(struct store_request *request, size_t count)
{
    if (request->kind == STORE_CLAIM) {
        request->u.claim.items = mem_array(count, sizeof(struct claim_item));
        request->u.claim.count = count;
    } else if (request->kind == STORE_RENEW) {
        request->u.renew.items = mem_array(count, sizeof(struct renew_item));
        request->u.renew.count = count;
    } else {
        request->u.release.items = mem_array(count, sizeof(struct release_item));
        request->u.release.count = count;
    }
}

static size_t count_items(const struct store_request *request)
{
    return items_of(request).count;
}

static const char *item_key(const struct store_request *request, size_t i)
{
    if (request->kind == STORE_CLAIM)
        return request->u.claim.items[i].key;
    if (request->kind == STORE_RENEW)
        return request->u.renew.items[i].key;
    return request->u.release.items[i].key;
}

/* ---- a set of keys ------------------------------------------------------------------------- */

#define SLOT_COUNT (4 * STORE_BATCH_ITEMS_MAX)

struct key_set {
    const char *slots[SLOT_COUNT];
    size_t count;
};

static size_t find_slot(const struct key_set *set, const char *key)
{
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    for (const char *c = key; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211U;
    size_t at = hash % SLOT_COUNT;
    while (set->slots[at] != NULL && strcmp(set->slots[at], key) != 0)
        at = (at + 1) % SLOT_COUNT;
    return at;
}

static bool has_any_key(const struct key_set *set, const struct store_request *request)
{
    for (size_t i = 0; i < count_items(request); i++)
        if (set->slots[find_slot(set, item_key(request, i))] != NULL)
            return true;
    return false;
}

/* False: the set is full, and knows no longer whom not to overtake. */
static bool add_keys(struct key_set *set, const struct store_request *request)
{
    for (size_t i = 0; i < count_items(request); i++) {
        if (set->count == SLOT_COUNT / 2)
            return false;
        size_t at = find_slot(set, item_key(request, i));
        set->count += set->slots[at] == NULL ? 1 : 0;
        set->slots[at] = item_key(request, i);
    }
    return true;
}

/* ---- gathering ----------------------------------------------------------------------------- */

static size_t output_bytes(const struct store_request *request)
{
    size_t bytes = 0;
    for (size_t i = 0; request->kind == STORE_RELEASE && i < request->u.release.count; i++)
        bytes += request->u.release.items[i].output_tail_length;
    return bytes;
}

static void add_member(struct store_batch *batch, struct store_request *member)
{
    size_t count = batch->member_count;
    if ((count & (count - 1)) == 0) {
        size_t room = count == 0 ? 1 : count * 2;
        batch->members = mem_grow(batch->members, room, sizeof *batch->members);
        batch->first_items = mem_grow(batch->first_items, room, sizeof *batch->first_items);
    }
    batch->members[count] = member;
    batch->first_items[count] =
        count == 0 ? 0 : batch->first_items[count - 1] + count_items(batch->members[count - 1]);
    batch->member_count++;
    batch->output_bytes += output_bytes(member);
}

static size_t count_all(const struct store_batch *batch)
{
    size_t last = batch->member_count - 1;
    return batch->first_items[last] + count_items(batch->members[last]);
}

static bool has_room_for_output(const struct store_batch *batch,
                                const struct store_request *request)
{
    size_t bytes = output_bytes(request);
    return bytes == 0 || batch->output_bytes + bytes <= STORE_BATCH_OUTPUT_MAX;
}

static bool fits(const struct store_batch *batch, const struct store_request *request,
                 const struct key_set *keys, int64_t now_boot_ms)
{
    const struct store_request *first = batch->members[0];
    int64_t least_ms = (first->give_up_boot_ms - now_boot_ms) / 2;
    return request->kind == first->kind && is_batchable(request) &&
           request->give_up_boot_ms - now_boot_ms >= least_ms &&
           count_all(batch) + count_items(request) <= STORE_BATCH_ITEMS_MAX &&
           has_room_for_output(batch, request) && !has_any_key(keys, request);
}

static void take_all(struct store_batch *batch, struct store_request **queue, int64_t now_boot_ms)
{
    struct key_set keys = {.count = 0};
    bool is_known = add_keys(&keys, batch->members[0]);
    for (struct store_request **at = queue; *at != NULL && is_known && has_keys(*at);) {
        struct store_request *request = *at;
        if (count_all(batch) == STORE_BATCH_ITEMS_MAX)
            return;
        if (fits(batch, request, &keys, now_boot_ms)) {
            *at = request->next;
            add_member(batch, request);
        } else {
            at = &request->next;
        }
        is_known = add_keys(&keys, request);
    }
}

static void fill_request(struct store_batch *batch, int64_t now_boot_ms)
{
    struct store_request *request = &batch->request;
    request->kind = batch->members[0]->kind;
    request->outcome = STORE_FAILED;
    request->give_up_boot_ms = batch->members[0]->give_up_boot_ms;
    make_items(request, count_all(batch));
    struct items all = items_of(request);
    for (size_t m = 0; m < batch->member_count; m++) {
        struct store_request *member = batch->members[m];
        struct items own = items_of(member);
        memcpy(all.first + batch->first_items[m] * all.bytes, own.first, own.count * own.bytes);
        if (member->give_up_boot_ms < request->give_up_boot_ms)
            request->give_up_boot_ms = member->give_up_boot_ms;
        member->batch = batch;
    }
    request->limit_ms = request->give_up_boot_ms - now_boot_ms;
}

static void free_batch(struct store_batch *batch)
{
    for (size_t i = 0; i < batch->kept_count; i++)
        free(batch->kept[i]);
    free(items_of(&batch->request).first);
    free(batch->kept);
    free(batch->members);
    free(batch->first_items);
    free(batch);
}

struct store_batch *store_batch_gather(struct store_request *first, struct store_request **queue,
                                       int64_t now_boot_ms)
{
    if (*queue == NULL || !is_batchable(first))
        return NULL;
    struct store_batch *batch = mem_alloc(sizeof *batch);
    add_member(batch, first);
    take_all(batch, queue, now_boot_ms);
    if (batch->member_count == 1) {
        free_batch(batch);
        return NULL;
    }
    fill_request(batch, now_boot_ms);
    return batch;
}

/* ---- leaving ------------------------------------------------------------------------------- */

struct store_request *store_batch_find_overdue(const struct store_batch *batch, int64_t now_boot_ms)
{
    for (size_t m = 0; m < batch->member_count; m++)
        if (batch->members[m] != NULL && batch->members[m]->give_up_boot_ms <= now_boot_ms)
            return batch->members[m];
    return NULL;
}

static void keep_bytes(struct store_batch *batch, const char **bytes, size_t count)
{
    if (*bytes == NULL)
        return;
    if ((batch->kept_count & (batch->kept_count - 1)) == 0)
        batch->kept = mem_grow(batch->kept, batch->kept_count == 0 ? 1 : batch->kept_count * 2,
                               sizeof *batch->kept);
    char *copy = mem_dup(*bytes, count);
    batch->kept[batch->kept_count++] = copy;
    *bytes = copy;
}

static void keep(struct store_batch *batch, const char **text)
{
    keep_bytes(batch, text, *text == NULL ? 0 : strlen(*text));
}

static void keep_texts(struct store_batch *batch, size_t i)
{
    struct store_request *request = &batch->request;
    if (request->kind == STORE_CLAIM) {
        struct claim_item *item = &request->u.claim.items[i];
        keep(batch, &item->key);
        keep(batch, &item->holder);
        keep(batch, &item->run_id);
        keep(batch, &item->job);
        keep(batch, &item->fingerprint);
    } else if (request->kind == STORE_RENEW) {
        struct renew_item *item = &request->u.renew.items[i];
        keep(batch, &item->key);
        keep(batch, &item->holder);
    } else {
        struct release_item *item = &request->u.release.items[i];
        keep(batch, &item->key);
        keep(batch, &item->holder);
        keep(batch, &item->run_id);
        keep_bytes(batch, &item->output_tail, item->output_tail_length);
    }
}

void store_batch_leave(struct store_batch *batch, struct store_request *member)
{
    size_t m = 0;
    while (batch->members[m] != member)
        m++;
    for (size_t i = 0; i < count_items(member); i++)
        keep_texts(batch, batch->first_items[m] + i);
    batch->members[m] = NULL;
    member->batch = NULL;
    member->sent_boot_ms = batch->request.sent_boot_ms;
}

bool store_batch_is_empty(const struct store_batch *batch)
{
    for (size_t m = 0; m < batch->member_count; m++)
        if (batch->members[m] != NULL)
            return false;
    return true;
}

/* ---- the answer ---------------------------------------------------------------------------- */

static void answer(struct store_batch *batch, size_t m)
{
    struct store_request *member = batch->members[m];
    const struct store_request *request = &batch->request;
    member->batch = NULL;
    member->outcome = request->outcome;
    member->failure = request->failure;
    member->error = request->error;
    member->sent_boot_ms = request->sent_boot_ms;
    if (request->outcome != STORE_ANSWERED)
        return;
    struct items own = items_of(member);
    memcpy(own.first, items_of(request).first + batch->first_items[m] * own.bytes,
           own.count * own.bytes);
}

struct store_request *store_batch_dissolve(struct store_batch *batch)
{
    struct store_request *list = NULL;
    for (size_t m = batch->member_count; m-- > 0;) {
        struct store_request *member = batch->members[m];
        if (member == NULL)
            continue;
        answer(batch, m);
        member->next = list;
        list = member;
    }
    free_batch(batch);
    return list;
}
