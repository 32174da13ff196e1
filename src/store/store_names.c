/* SPDX-License-Identifier: ISC */
#include "store/store.h"

#include <stdlib.h>

const char *claim_verdict_name(enum claim_verdict verdict)
{
    static const char *const names[] = {
        [CLAIM_WON] = "won",     [CLAIM_HELD] = "held",     [CLAIM_DONE] = "done",
        [CLAIM_EARLY] = "early", [CLAIM_MISSED] = "missed", [CLAIM_SKIPPED] = "skipped",
        [CLAIM_RACED] = "raced",
    };
    return names[verdict];
}

const char *renew_verdict_name(enum renew_verdict verdict)
{
    static const char *const names[] = {
        [RENEW_RENEWED] = "renewed",
        [RENEW_LOCKED] = "locked",
        [RENEW_LOST] = "lost",
    };
    return names[verdict];
}

const char *lost_reason_name(enum lost_reason reason)
{
    static const char *const names[] = {
        [LOST_TAKEN] = "another holder has taken it",
        [LOST_REVOKED] = "somebody asked for its end with `leaserun release --stop`",
        [LOST_EXPIRED] = "it has expired by the store's clock",
        [LOST_GONE] = "its row was deleted or released by somebody else",
    };
    return names[reason];
}

const char *run_outcome_name(enum run_outcome outcome)
{
    static const char *const names[OUTCOME_COUNT] = {
        [OUTCOME_NONE] = "unfinished",     [OUTCOME_SUCCEEDED] = "succeeded",
        [OUTCOME_FAILED] = "failed",       [OUTCOME_NOT_STARTED] = "not_started",
        [OUTCOME_TIMED_OUT] = "timed_out", [OUTCOME_STOPPED] = "stopped",
        [OUTCOME_LOST] = "lost",           [OUTCOME_ABANDONED] = "abandoned",
        [OUTCOME_MISSED] = "missed",       [OUTCOME_SKIPPED] = "skipped",
    };
    return names[outcome];
}

const char *lease_state_name(enum lease_state state)
{
    static const char *const names[] = {
        [LEASE_HELD] = "held",
        [LEASE_EXPIRED] = "expired",
        [LEASE_RELEASED] = "released",
        [LEASE_ON_HOLD] = "on_hold",
    };
    return names[state];
}

bool store_failure_is_final(enum store_failure failure)
{
    switch (failure) {
    case FAILURE_REFUSED:
    case FAILURE_SCHEMA:
    case FAILURE_RIGHTS:
    case FAILURE_OTHER:
        return true;
    case FAILURE_NONE:
    case FAILURE_CONFLICT:
    case FAILURE_UNREACHABLE:
    case FAILURE_READ_ONLY:
        return false;
    }
    return false;
}

static void clear_leases(struct lease_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->rows[i].key);
        free(list->rows[i].holder);
    }
    free(list->rows);
    list->rows = NULL;
    list->count = 0;
}

static void clear_runs(struct run_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->rows[i].run_id);
        free(list->rows[i].key);
        free(list->rows[i].job);
        free(list->rows[i].holder);
        free(list->rows[i].output_tail);
    }
    free(list->rows);
    list->rows = NULL;
    list->count = 0;
}

static void clear_inspection(struct inspection *inspection)
{
    for (size_t i = 0; i < inspection->note_count; i++)
        free(inspection->notes[i]);
    free(inspection->notes);
    free(inspection->faults);
    free(inspection->description);
    *inspection = (struct inspection){0};
}

void store_request_clear(struct store_request *request)
{
    if (request->kind == STORE_STATUS)
        clear_leases(&request->u.leases);
    else if (request->kind == STORE_HISTORY)
        clear_runs(&request->u.runs);
    else if (request->kind == STORE_INSPECT)
        clear_inspection(&request->u.inspection);
}
