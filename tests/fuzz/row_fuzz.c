/* SPDX-License-Identifier: ISC */
/* Rows from a server, with any values, columns missing, too many or too few: what is read of them
 * is within its bounds. */
#include "base/mem.h"
#include "fuzz.h"
#include "store/postgresql/pg_ops.h"
#include "store/postgresql/pg_row.h"

#include <stdlib.h>
#include <string.h>

static const char *const columns[] = {
    "server_us",
    "timeline",
    "verdict",
    "fence",
    "wait_ms",
    "held_since_us",
    "other",
    "abandoned",
    "is_released",
    "abandoned_fence",
    "is_first_to_tell",
    "is_recorded",
    "key",
    "holder",
    "run_id",
    "job",
    "state",
    "revoked",
    "acquired_us",
    "expires_us",
    "lease_ms",
    "hold_ms",
    "slot_us",
    "started_us",
    "finished_us",
    "outcome",
    "status",
    "output_tail",
    "system_identifier",
    "what",
    "name",
    "part",
    "detail",
    "version",
    "oldest_reader",
    "last_fence",
    "highest_fence",
    "leases_deleted",
    "runs_deleted",
};
#define COLUMN_COUNT ((int)(sizeof columns / sizeof columns[0]))
#define COLUMNS_MOST 8

static PGresult *take_result(struct fuzz_input *input)
{
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    PGresAttDesc descriptions[COLUMNS_MOST];
    int column_count = (int)fuzz_below(input, COLUMNS_MOST + 1);
    int row_count = column_count == 0 ? 0 : (int)fuzz_below(input, 4);
    int format = fuzz_below(input, 8) == 0;
    memset(descriptions, 0, sizeof descriptions);
    for (int i = 0; i < column_count; i++) {
        const char *name = columns[fuzz_below(input, COLUMN_COUNT)];
        descriptions[i].name = (char *)(uintptr_t)name;
        descriptions[i].format = format;
    }
    FUZZ_CHECK(result != NULL && PQsetResultAttrs(result, column_count, descriptions) == 1);
    for (int row = 0; row < row_count; row++)
        for (int column = 0; column < column_count; column++) {
            char *value = fuzz_string(input);
            int length = strcmp(value, "-") == 0 ? -1 : (int)strlen(value);
            FUZZ_CHECK(PQsetvalue(result, row, column, value, length) == 1);
            free(value);
        }
    return result;
}

static bool is_text(const char *text, size_t room)
{
    return memchr(text, '\0', room) != NULL;
}

#define ITEM_COUNT 2

struct items {
    struct claim_item claims[ITEM_COUNT];
    struct renew_item renewals[ITEM_COUNT];
    struct release_item releases[ITEM_COUNT];
};

static void give_items(struct store_request *request, struct items *items, size_t count)
{
    memset(items, 0, sizeof *items);
    items->claims[0].attempt = 1;
    items->claims[0].slot_us = NO_INSTANT;
    if (request->kind == STORE_CLAIM) {
        request->u.claim.items = items->claims;
        request->u.claim.count = count;
    } else if (request->kind == STORE_RENEW) {
        request->u.renew.items = items->renewals;
        request->u.renew.count = count;
    } else if (request->kind <= STORE_FREE) {
        request->u.release.items = items->releases;
        request->u.release.count = count;
    }
}

static void check_items(const struct items *items)
{
    for (int i = 0; i < ITEM_COUNT; i++) {
        const struct claim_item *claim = &items->claims[i];
        const struct renew_item *renewal = &items->renewals[i];
        FUZZ_CHECK(claim_verdict_name(claim->verdict) != NULL);
        FUZZ_CHECK(is_text(claim->other, sizeof claim->other));
        FUZZ_CHECK(is_text(claim->abandoned, sizeof claim->abandoned));
        FUZZ_CHECK(renew_verdict_name(renewal->verdict) != NULL);
        FUZZ_CHECK(lost_reason_name(renewal->reason) != NULL);
        FUZZ_CHECK(is_text(renewal->other, sizeof renewal->other));
        FUZZ_CHECK(items->releases[i].verdict <= RELEASE_NOT_OURS);
    }
}

static void check_lists(const struct store_request *request)
{
    if (request->kind == STORE_STATUS)
        for (size_t i = 0; i < request->u.leases.count; i++)
            FUZZ_CHECK(lease_state_name(request->u.leases.rows[i].state) != NULL);
    if (request->kind == STORE_HISTORY)
        for (size_t i = 0; i < request->u.runs.count; i++)
            FUZZ_CHECK(run_outcome_name(request->u.runs.rows[i].outcome) != NULL);
    if (request->kind == STORE_INSPECT)
        for (size_t i = 0; i < request->u.inspection.fault_count; i++)
            FUZZ_CHECK(fuzz_is_one_line(request->u.inspection.faults[i].text));
}

static void check_server(const PGresult *result)
{
    struct pg_server server;
    struct error err;
    pg_server_init(&server);
    for (int i = 0; i < 2; i++) {
        if (!pg_server_read_greeting(&server, result, &err))
            FUZZ_CHECK(fuzz_is_one_line(err.text));
        pg_server_read_reply(&server, result, &err);
        pg_server_now_us(&server, now_boot_ms());
        FUZZ_CHECK(is_text(server.timeline, sizeof server.timeline));
        FUZZ_CHECK(is_text(server.system_identifier, sizeof server.system_identifier));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct fuzz_input input = {bytes, bytes + count};
    struct items items;
    struct error err = {.kind = ERROR_NONE};
    struct store_request request = {.kind = fuzz_below(&input, STORE_KIND_COUNT)};
    struct pg_task task = {
        .request = &request, .schema = "leaserun", .step = (int)fuzz_below(&input, 2)};
    give_items(&request, &items, fuzz_below(&input, ITEM_COUNT) + 1);
    PGresult *result = take_result(&input);
    enum pg_next next = pg_ops[request.kind].read(&task, result, &err);
    FUZZ_CHECK(next != PG_NEXT_FAILED || (err.text[0] != '\0' && fuzz_is_one_line(err.text)));
    check_items(&items);
    check_lists(&request);
    check_server(result);
    PQclear(result);
    pg_ops_done(&task);
    store_request_clear(&request);
    return 0;
}
