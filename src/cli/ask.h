/* SPDX-License-Identifier: ISC */
/* One question to the store and its answer, for commands that do nothing else: opens the store,
 * submits, repeats what may be repeated, closes. Blocks; signals end the process as usual. */
#pragma once
#include "base/error.h"
#include "conf/store_url.h"
#include "store/store.h"

struct ask_limits {
    int64_t attempt_ms; /* one attempt */
    int64_t total_ms;   /* no attempt begins later than this */
};
#define ASK_LIMITS ((struct ask_limits){5000, 10000})
#define ASK_LIMITS_UPKEEP                                                                          \
    ((struct ask_limits){60000, 10000}) /* many rows, or a migration's lock                        \
                                         */

/* True when the request was ANSWERED; the caller reads it and calls store_request_clear. Else
 * *err: ERROR_CONFIG for a schema or right that is missing and a URL that cannot be read,
 * ERROR_STORE for all else. */
bool ask_store(const struct store_config *store, struct store_request *request,
               struct ask_limits limits, struct error *err);
