/* SPDX-License-Identifier: ISC */
/* What PostgreSQL alone can do or suffer. The server is a private one, LEASERUN_TEST_PG is a
 * superuser's URL to it; without it the program is skipped (status 77). Beside the stores under
 * test stands a person with psql: pg_person_*, blocking. */
#pragma once
#include "base/identity.h"
#include "check.h"
#include "store/store.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define PG_CLIENTS_MAX 32

struct pg_fixture;

struct pg_client { /* one store, as one process would have it */
    struct pg_fixture *fixture;
    struct store *store;
    int lost_count, restored_count, note_count;
    struct error last_lost;
    int released_count;
    char last_released[64];
    int open_calls; /* callbacks still to come */
};

struct pg_fixture {
    uv_loop_t loop;
    PGconn *person;
    char schema[32];
    struct pg_client clients[PG_CLIENTS_MAX];
    int client_count;
    int key_count;
};

int pg_fixture_open(void **state);  /* setup of a group: makes the schema by INIT */
int pg_fixture_close(void **state); /* teardown: closes the stores, drops the schema */
int pg_fixture_run(const char *name, const struct CMUnitTest *cases, size_t count);

const char *pg_fixture_url(void);
/* "URL" with another part: the caller frees. */
char *pg_fixture_url_with(const char *parameters);
/* A URL to the same server as another user, database and parameters. */
char *pg_fixture_url_as(const char *user, const char *database, const char *parameters);

/* A new store on url (NULL: the fixture's), schema (NULL: the fixture's). */
struct pg_client *pg_client_open(struct pg_fixture *fixture, const char *url, const char *schema);
struct pg_client *pg_client_open_config(struct pg_fixture *fixture,
                                        const struct store_config *config);
void pg_client_submit(struct pg_client *client, struct store_request *request, int64_t limit_ms);
/* Turns the loop until all that were submitted are called back. */
void pg_fixture_settle(struct pg_fixture *fixture);
enum store_outcome pg_client_ask(struct pg_client *client, struct store_request *request);
void pg_fixture_turn_ms(struct pg_fixture *fixture, int64_t ms);

/* One statement by hand; %s-free printf. Returns the first value, valid until the next. */
const char *pg_person(struct pg_fixture *fixture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What init --print-sql grants, on the fixture's schema. */
void pg_person_grant(struct pg_fixture *fixture, const char *role);
int64_t pg_person_number(struct pg_fixture *fixture, const char *sql);

/* What the whole server wrote meanwhile. */
struct pg_cost {
    int64_t xids, wal_bytes;
};
/* The least that act costs, of a few times: what others write on the same server (autovacuum, other
 * tests) falls into some of them, what act itself writes into each. */
struct pg_cost pg_fixture_cost(struct pg_fixture *fixture, void (*act)(void *owner), void *owner);

const char *pg_fixture_key(struct pg_fixture *fixture);

struct pg_contender {
    char holder[IDENTITY_HOLDER_MAX];
    char run_id[IDENTITY_RUN_ID_MAX];
    struct claim_item item;
    struct store_request request;
};
void pg_contender_init(struct pg_contender *contender, const char *key);
void pg_contender_submit(struct pg_contender *contender, struct pg_client *client);
/* Claims until there is a verdict other than raced, as a caller would. */
enum claim_verdict pg_contender_claim(struct pg_contender *contender, struct pg_client *client);
enum release_verdict pg_contender_give_back(struct pg_contender *contender,
                                            struct pg_client *client, enum store_kind kind);
struct renew_item pg_contender_renew(struct pg_contender *contender, struct pg_client *client);
