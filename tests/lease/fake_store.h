/* SPDX-License-Identifier: ISC */
/* The functions of store/store.h, played from a script. Like the real one it serves requests in
 * order and one at a time, never calls back within a submit, gives an attempt up at its limit, and
 * knows whether a request has left. Every request stands in the journal. */
#pragma once
#include "store/store.h"

enum fake_fate {
    FAKE_ANSWERS,
    FAKE_FAILS,
    FAKE_SILENT, /* no answer: the attempt ends at its limit */
};

/* One row for one request. */
struct fake_answer {
    enum fake_fate fate;
    bool is_unsent;        /* there is no connection: the request never leaves */
    int64_t connecting_ms; /* before it leaves */
    int64_t after_ms;      /* from then on until it is answered or has failed */
    bool is_repeated;      /* and all later ones of the kind */

    enum store_failure failure; /* FAILS */
    const char *fault;

    enum claim_verdict claim; /* ANSWERS, by kind */
    enum renew_verdict renew;
    enum release_verdict release;
    int64_t fence, wait_ms;
    enum lost_reason reason;
    const char *other, *abandoned;
    bool is_first_to_tell;
};

/* What the requests of a kind get, in order. A request for which there is no row fails the test.
 * The rows are borrowed until the store is closed. */
void fake_store_answers(enum store_kind kind, const struct fake_answer *answers, size_t count);
#define FAKE_STORE_ANSWERS(kind, ...)                                                              \
    fake_store_answers(kind, (const struct fake_answer[]){__VA_ARGS__},                            \
                       sizeof((const struct fake_answer[]){__VA_ARGS__}) /                         \
                           sizeof(struct fake_answer))

/* Forgets all rows; the next store_open fails with this fault, when there is one. */
void fake_store_reset(const char *open_fault);

/* The store is between store_open and the end of store_close. */
bool fake_store_is_open(void);

/* Calls the listener of the open store. */
void fake_store_lose(const char *fault);
void fake_store_restore(void);
void fake_store_note(const char *text);

/* The last request of the kind that was submitted, as it was then. */
const struct store_request *fake_store_last(enum store_kind kind);
const struct claim_item *fake_store_last_claim(void);
const struct release_item *fake_store_last_release(enum store_kind kind);
