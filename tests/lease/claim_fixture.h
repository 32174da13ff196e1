/* SPDX-License-Identifier: ISC */
/* A claim, its store and its loop, for the tests of claim.c. What the claim tells stands in the
 * journal: "2 won", "0 waits for them, 300 left", "0 early by 3000". */
#pragma once
#include "check.h"
#include "fake_clock.h"
#include "fake_store.h"
#include "journal.h"
#include "lease/claim.h"

struct claim_fixture {
    uv_loop_t loop;
    struct store *store;
    struct lease lease;
    struct claim claim;
    struct handles handles;
    bool is_started;
    int finished_count;
    int64_t finished_ms;
    enum claim_result result;
};

int claim_fixture_set_up(void **state);
int claim_fixture_tear_down(void **state);
void claim_fixture_start(struct claim_fixture *fixture, struct claim_spec spec);
void claim_fixture_run_to_end(struct claim_fixture *fixture); /* told once */

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, claim_fixture_set_up, claim_fixture_tear_down)

/* No wait, a minute for an answer. */
#define PLAIN           ((struct claim_spec){.give_up_ms = 60000})
#define WAITING         ((struct claim_spec){.may_wait = true, .give_up_ms = 600000})
#define WAITING_FOREVER ((struct claim_spec){.may_wait = true, .give_up_ms = INT64_MAX})

#define WON(fence_, after)                                                                         \
    {                                                                                              \
        .claim = CLAIM_WON, .fence = fence_, .after_ms = after                                     \
    }
#define HELD(wait, after)                                                                          \
    {                                                                                              \
        .claim = CLAIM_HELD, .wait_ms = wait, .after_ms = after, .other = "them"                   \
    }
#define REFUSED_CONNECTION                                                                         \
    {                                                                                              \
        .fate = FAKE_FAILS, .is_unsent = true, .failure = FAILURE_UNREACHABLE,                     \
        .fault = "connection refused"                                                              \
    }
#define SILENT                                                                                     \
    {                                                                                              \
        .fate = FAKE_SILENT                                                                        \
    }
#define UNANSWERABLE                                                                               \
    {                                                                                              \
        .fate = FAKE_SILENT, .is_unsent = true                                                     \
    } /* connecting takes for ever */
