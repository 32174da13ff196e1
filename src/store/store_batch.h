/* SPDX-License-Identifier: ISC */
/* Requests that are served as one. While the backend is busy with one request others come; most of
 * what a statement costs is for the statement, not for its items, and so those of the same kind go
 * together: claims, renewals, releases, undoings. The backend sees one request with the items of
 * all; each member gets its own verdicts, and has its own limit and callback. */
#pragma once
#include "store/store.h"

#define STORE_BATCH_ITEMS_MAX 500
/* Bytes of output that go together: renewals wait behind them. One release may have more. */
#define STORE_BATCH_OUTPUT_MAX 262144

struct store_batch {
    struct store_request request;   /* what the backend serves; the items are the batch's */
    struct store_request **members; /* in the order of their items; NULL: has left */
    size_t *first_items;            /* of each member, in request's */
    size_t member_count;
    size_t output_bytes;
    char **kept; /* texts of those that have left: the backend may still need them */
    size_t kept_count;
};

/* The batch of first, which is in no queue any more, and of those in the queue that may go with it;
 * they are unlinked from there. NULL: there are none.
 *
 * A key stands once in a batch, and no request overtakes one of the same key, nor one that is
 * about no single key. The batch's limit is that of its member that is due first; who is due in
 * less than half of first's time is left for later. */
struct store_batch *store_batch_gather(struct store_request *first, struct store_request **queue,
                                       int64_t now_boot_ms);

/* A member whose limit comes now; NULL: none. */
struct store_request *store_batch_find_overdue(const struct store_batch *batch,
                                               int64_t now_boot_ms);

/* The member's own memory is not touched again; what the backend answers for it is dropped. */
void store_batch_leave(struct store_batch *batch, struct store_request *member);
bool store_batch_is_empty(const struct store_batch *batch); /* all have left */

/* Gives the batch's answer, outcome and fault to all members, and frees the batch. The members come
 * back as a list by their next, in order. */
struct store_request *store_batch_dissolve(struct store_batch *batch);
