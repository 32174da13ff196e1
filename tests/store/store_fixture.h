/* SPDX-License-Identifier: ISC */
/* One store for a whole program of the contract suite, and the words its cases are written in.
 *
 * LEASERUN_TEST_STORE says which: "sqlite" (and unset) a file in a folder of its own, "postgresql"
 * the server of LEASERUN_TEST_PG in a schema of its own, "fenceless" and "shedlock" the same with
 * the leases in a table of that dialect, anything else is a URL as it is. Without
 * LEASERUN_TEST_PG the cases for PostgreSQL are skipped.
 *
 * Functions that ask wait, turning the loop, until the one answer has come, and fail the case when
 * the store could not serve the request. */
#pragma once
#include "base/identity.h"
#include "check.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define FOREVER_MS  600000 /* a ttl that does not end during a test */
#define MOMENT_MS   400    /* a ttl that does */
#define SECOND_US   INT64_C(1000000)
#define OTHER_FENCE 1000000000

struct store_fixture {
    uv_loop_t loop;
    struct store *store;
    char *url;
    char *schema;
    struct store_config config;
    char folder[64];         /* of SQLite's file; "" for none */
    char foreign_schema[32]; /* of the table of another program; "" for none */
    int note_count;
    int key_count;
};

/* One who claims: a holder with the item of its claim, which also keeps the answer. */
struct contender {
    char holder[IDENTITY_HOLDER_MAX];
    char run_id[IDENTITY_RUN_ID_MAX];
    struct claim_item item;
};

/* Runs the cases; setup and teardown of the group open and close the store. */
int store_fixture_run(const char *name, const struct CMUnitTest *cases, size_t count);

/* A key that no other case uses; lives until the program ends. */
const char *store_fixture_key(struct store_fixture *fixture);
int store_fixture_longest_key(const struct store_fixture *fixture); /* characters */
void store_fixture_wait_ms(struct store_fixture *fixture, int64_t ms);

void store_fixture_submit(struct store_fixture *fixture, struct store_request *request);
/* Submits, waits for the callback, and checks that it was the only one. */
enum store_outcome store_fixture_ask(struct store_fixture *fixture, struct store_request *request);

/* A fresh holder and run; ttl FOREVER_MS, no slot, no window, attempt 1. */
struct contender contender(const char *key);
enum claim_verdict contender_claim(struct store_fixture *fixture, struct contender *contender);
enum claim_verdict contender_claim_again(struct store_fixture *fixture,
                                         struct contender *contender); /* attempt + 1 */
void contender_claim_all(struct store_fixture *fixture, struct claim_item *items, size_t count);
struct contender contender_winner(struct store_fixture *fixture, const char *key);

enum renew_verdict contender_renew(struct store_fixture *fixture, const struct contender *holder,
                                   struct renew_item *ret_item); /* NULL: not wanted */
struct release_item contender_release(struct store_fixture *fixture, const struct contender *holder,
                                      enum run_outcome outcome, int status);
struct release_item contender_undo(struct store_fixture *fixture, const struct contender *holder);
struct release_item contender_free(struct store_fixture *fixture, const struct contender *holder);
struct revoke store_fixture_revoke(struct store_fixture *fixture, const char *key, bool is_stop);

/* The key's row; exists is false when there is none. Strings live until the next call. */
struct lease_row store_fixture_lease(struct store_fixture *fixture, const char *key,
                                     bool *ret_exists);
/* Fails the case when there is none. */
struct lease_row store_fixture_held(struct store_fixture *fixture, const char *key);
/* The newest run of a key; run_id is NULL when there is none. Strings live until the next call. */
struct run_row store_fixture_last_run(struct store_fixture *fixture, const char *key,
                                      size_t *ret_count);
struct purge store_fixture_purge(struct store_fixture *fixture, struct purge purge);
struct purge store_fixture_forget(struct store_fixture *fixture, const char *key);
