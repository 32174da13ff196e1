/* SPDX-License-Identifier: ISC */
/* A SQLite file of its own for each case, and requests served on it in the calling thread: so that
 * a case can be another boot, another process, or at another time. */
#pragma once
#include "base/identity.h"
#include "check.h"
#include "store/sqlite/sqlite_liveness.h"
#include "store/sqlite/sqlite_ops.h"

struct sqlite_fixture {
    char folder[64];
    char path[96];
    struct sqlite_link link;
};

int sqlite_fixture_set_up(void **state);
int sqlite_fixture_tear_down(void **state);

/* Another connection to the same file. */
struct sqlite_link sqlite_fixture_link(const struct sqlite_fixture *fixture);
/* One of a host that was started otherwise: its clock has this name. */
struct sqlite_link sqlite_fixture_host(const struct sqlite_fixture *fixture, const char *clock);

void sqlite_fixture_serve(struct sqlite_link *link, struct store_request *request);

/* A claim for key by a new holder that lives as long as the program. */
struct claim_item sqlite_fixture_item(const char *key);
enum claim_verdict sqlite_fixture_claim(struct sqlite_link *link, struct claim_item *item);
enum renew_verdict sqlite_fixture_renew(struct sqlite_link *link, const struct claim_item *item,
                                        enum lost_reason *ret_reason);
enum release_verdict sqlite_fixture_release(struct sqlite_link *link,
                                            const struct claim_item *item);
