/* SPDX-License-Identifier: ISC */
/* The statements, and which function serves which kind of request. */
#pragma once
#include "store/sqlite/sqlite_link.h"
#include "store/store.h"

#include <stdbool.h>

enum sqlite_sql {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_LEASE,
    SQL_LEASE_WRITE,
    /* claim */
    SQL_RUN_OF_SLOT,
    SQL_ONCE_SUCCEEDED,
    SQL_NEXT_FENCE,
    SQL_RUN_AGAIN,
    SQL_RUN_START,
    SQL_RUN_MISS,
    SQL_RUN_ABANDON,
    /* release */
    SQL_RUN_FINISH,
    SQL_RUN_OUTCOME,
    /* undo */
    SQL_RUN_UNDO,
    SQL_LAST_SLOT,
    /* status, history */
    SQL_LEASES,
    SQL_RUNS,
    /* purge, forget */
    SQL_LEASES_PURGE,
    SQL_RUNS_PURGE,
    SQL_LEASE_FORGET,
    SQL_RUNS_FORGET,
    SQL_RUNS_CLOSE,
    SQL_COUNT
};

_Static_assert((int)SQL_COUNT <= SQLITE_SQL_MAX, "a link has room for every statement");

extern const char *const sqlite_ops_sql[SQL_COUNT];

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
bool sqlite_purge(struct sqlite_link *link, struct store_request *request);
bool sqlite_forget(struct sqlite_link *link, struct store_request *request);
bool sqlite_init(struct sqlite_link *link, struct store_request *request);
bool sqlite_inspect(struct sqlite_link *link, struct store_request *request);
