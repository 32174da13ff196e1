/* SPDX-License-Identifier: ISC */
/* Which function serves which kind of request. */
#pragma once
#include "store/sqlite/sqlite_link.h"
#include "store/store.h"

#include <stdbool.h>

/* Serves a request on the calling thread: opens the file first when need be, fills the answer,
 * outcome, failure and error. What nobody could finish is rolled back. */
void sqlite_ops_serve(struct sqlite_link *link, struct store_request *request);

/* One function for each kind, in the order of enum store_kind. False: the link has the fault. */
bool sqlite_claim(struct sqlite_link *link, struct store_request *request);
bool sqlite_renew(struct sqlite_link *link, struct store_request *request);
bool sqlite_release(struct sqlite_link *link, struct store_request *request);
bool sqlite_undo(struct sqlite_link *link, struct store_request *request);
bool sqlite_free(struct sqlite_link *link, struct store_request *request);
bool sqlite_revoke(struct sqlite_link *link, struct store_request *request);
bool sqlite_status(struct sqlite_link *link, struct store_request *request);
bool sqlite_history(struct sqlite_link *link, struct store_request *request);
bool sqlite_recall(struct sqlite_link *link, struct store_request *request);
bool sqlite_purge(struct sqlite_link *link, struct store_request *request);
bool sqlite_forget(struct sqlite_link *link, struct store_request *request);
bool sqlite_init(struct sqlite_link *link, struct store_request *request);
bool sqlite_inspect(struct sqlite_link *link, struct store_request *request);
