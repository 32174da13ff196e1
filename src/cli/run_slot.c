/* SPDX-License-Identifier: ISC */
#include "cli/run_slot.h"

#include "cli/ask.h"
#include "cli/say.h"
#include "cron/zone_instant.h"
#include "schedule/roster.h"

#define SECOND_US INT64_C(1000000)

static bool find_slot(const struct entry *entry, const char *typed, int64_t *ret_slot_us,
                      struct error *err)
{
    int64_t typed_us;
    const char *name = entry->job->name;
    if (!zone_instant_parse(entry->slots.zone, typed, &typed_us, err)) {
        err->kind = ERROR_USAGE;
        return error_prefix(err, "--slot");
    }
    int64_t slot_us = slots_latest(&entry->slots, typed_us - 1, typed_us + SECOND_US - 1);
    if (slot_us == NO_INSTANT)
        return error_set(err, ERROR_USAGE,
                         "--slot: %s is no slot of %s: leaserun history --slots %s "
                         "lists them",
                         typed, name, name);
    if (slot_us > now_wall_us())
        return error_set(err, ERROR_USAGE, "--slot: %s lies ahead: without --slot %s is run now",
                         typed, name);
    *ret_slot_us = slot_us;
    return true;
}

/* The roster needs the table for a moment. */
static bool find_slot_of_job(struct invocation *invocation, int64_t *ret_slot_us, struct error *err)
{
    struct roster *roster;
    const char *name = invocation->options.operands[0];
    struct job_table table = invocation->table;
    invocation->table = (struct job_table){0};
    if (!roster_make(&table, now_wall_us(), &roster, err))
        return false;
    const struct entry *entry = roster_find(roster, name);
    bool is_good =
        entry != NULL && entry_has_slots(entry)
            ? find_slot(entry, invocation->options.slot, ret_slot_us, err)
            : error_set(err, ERROR_USAGE, "--slot: %s is no enabled job that has slots", name);
    invocation->table = roster->table;
    roster->table = (struct job_table){0};
    roster_release(roster);
    return is_good;
}

/* OUTCOME_COUNT: there is no record of it. */
static bool ask_outcome(const struct invocation *invocation, int64_t slot_us,
                        enum run_outcome *ret_outcome, struct error *err)
{
    struct store_request request = {.kind = STORE_HISTORY};
    request.u.runs =
        (struct run_list){.key = invocation->job.key, .is_of_slots = true, .from_us = slot_us};
    if (!ask_store(&invocation->store, &request, ASK_LIMITS, err))
        return false;
    *ret_outcome = OUTCOME_COUNT;
    for (size_t i = 0; i < request.u.runs.count; i++)
        if (request.u.runs.rows[i].slot_us == slot_us)
            *ret_outcome = request.u.runs.rows[i].outcome;
    store_request_clear(&request);
    return true;
}

int run_slot_fill(struct invocation *invocation, struct run_spec *spec)
{
    struct error error;
    enum run_outcome outcome;
    int64_t slot_us = NO_INSTANT;
    char slot_text[TIME_TEXT_MAX];
    if (!find_slot_of_job(invocation, &slot_us, &error) ||
        !ask_outcome(invocation, slot_us, &outcome, &error))
        return say_error(&error);
    spec->slot_us = slot_us;
    spec->claim.slot_window_ms = -1;
    spec->claim.is_by_hand = true;
    if (outcome == OUTCOME_COUNT || outcome == OUTCOME_MISSED || outcome == OUTCOME_SKIPPED)
        return 0;
    time_text_s(slot_us, slot_text);
    say_line("not run: the slot %s of %s was started already (%s)", slot_text, invocation->job.name,
             run_outcome_name(outcome));
    return (int)invocation->job.held_exit;
}
