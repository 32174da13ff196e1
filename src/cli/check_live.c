/* SPDX-License-Identifier: ISC */
#include "cli/check_live.h"

#include "base/mem.h"
#include "base/now.h"
#include "cli/ask.h"
#include "cli/listing.h"
#include "cli/say.h"
#include "schedule/past.h"
#include "schedule/roster.h"
#include "schedule/turn_claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 1000 /* keys that are asked for at once */

static const struct listing_column columns[] = {
    {"job", "JOB"},   {"key", "KEY"},         {"state", "STATE"},       {"holder", "HOLDER"},
    {"slot", "SLOT"}, {"outcome", "OUTCOME"}, {"schedule", "SCHEDULE"},
};

struct live {
    const struct roster *roster;
    struct recall_item *items; /* what became of each entry of the roster, in its order */
    struct lease_list leases;  /* in the order of their keys */
    bool *have_job;            /* of each lease */
    struct listing listing;
};

/* ---- the store is asked ---------------------------------------------------------------------- */

static bool recall(const struct store_config *store, struct live *live, struct error *err)
{
    for (size_t from = 0; from < live->roster->count; from += PIECE) {
        size_t left = live->roster->count - from;
        struct store_request request = {.kind = STORE_RECALL};
        request.u.recall.items = &live->items[from];
        request.u.recall.count = left < PIECE ? left : PIECE;
        if (!ask_store(store, &request, ASK_LIMITS, err))
            return false;
    }
    return true;
}

static void fill_items(struct live *live)
{
    live->items = mem_array(live->roster->count + 1, sizeof live->items[0]);
    for (size_t i = 0; i < live->roster->count; i++) {
        const struct entry *entry = &live->roster->entries[i];
        live->items[i].key = entry->job->key;
        live->items[i].job = entry->shares_key ? entry->job->name : NULL;
    }
}

/* ---- one row --------------------------------------------------------------------------------- */

/* Who holds it, not who held it last. */
static void list_key(struct live *live, const char *job, const char *key,
                     const struct lease_row *lease)
{
    bool is_held = lease != NULL && lease->state == LEASE_HELD;
    listing_text(&live->listing, job);
    listing_text(&live->listing, key);
    listing_text(&live->listing, lease == NULL ? NULL : lease_state_name(lease->state));
    listing_text(&live->listing, is_held ? lease->holder : NULL);
}

/* A key that several jobs share has one fingerprint for all, which says nothing of one. */
static const char *compare_schedule(const struct entry *entry, const struct recall_item *item)
{
    int64_t told_us;
    if (!entry_has_slots(entry) || entry->shares_key || item->fingerprint[0] == '\0')
        return NULL;
    return past_read(entry, item->fingerprint, &told_us) ? "same" : "another";
}

/* Neither slot nor outcome nor schedule. */
static void list_no_past(struct live *live)
{
    for (int i = 0; i < 3; i++)
        listing_nothing(&live->listing);
}

static void list_past(struct live *live, const struct entry *entry)
{
    const struct recall_item *item = &live->items[entry - live->roster->entries];
    if (item->slot_us == NO_INSTANT) {
        listing_nothing(&live->listing);
        listing_nothing(&live->listing);
    } else {
        bool is_known = item->outcome != OUTCOME_COUNT;
        listing_instant(&live->listing, item->slot_us);
        listing_text(&live->listing, is_known ? run_outcome_name(item->outcome) : NULL);
    }
    listing_text(&live->listing, compare_schedule(entry, item));
}

/* ---- all rows -------------------------------------------------------------------------------- */

/* The first lease whose key is not before this one. */
static size_t find_lease(const struct live *live, const char *key)
{
    size_t least = 0, most = live->leases.count;
    while (least < most) {
        size_t middle = least + (most - least) / 2;
        if (strcmp(live->leases.rows[middle].key, key) < 0)
            least = middle + 1;
        else
            most = middle;
    }
    return least;
}

static void list_job(struct live *live, const struct job *job, const struct entry *entry)
{
    size_t at = find_lease(live, job->key);
    bool is_there = at < live->leases.count && strcmp(live->leases.rows[at].key, job->key) == 0;
    if (is_there)
        live->have_job[at] = true;
    list_key(live, job->name, job->key, is_there ? &live->leases.rows[at] : NULL);
    if (entry == NULL)
        list_no_past(live);
    else
        list_past(live, entry);
}

/* Each host that has started a scheduler has a key of its own. */
static void list_reboot_job(struct live *live, const struct entry *entry)
{
    MEM_AUTOFREE char *prefix = mem_printf("%s@", entry->job->key);
    size_t first = find_lease(live, prefix), at = first;
    for (; at < live->leases.count; at++) {
        const struct lease_row *lease = &live->leases.rows[at];
        if (strncmp(lease->key, prefix, strlen(prefix)) != 0)
            break;
        live->have_job[at] = true;
        list_key(live, entry->job->name, lease->key, lease);
        list_no_past(live);
    }
    if (at > first)
        return;
    MEM_AUTOFREE char *own = turn_claim_key(entry);
    list_key(live, entry->job->name, own, NULL);
    list_no_past(live);
}

static void list_other_keys(struct live *live)
{
    for (size_t i = 0; i < live->leases.count; i++) {
        const struct lease_row *lease = &live->leases.rows[i];
        if (live->have_job[i])
            continue;
        list_key(live, NULL, lease->key, lease);
        listing_instant(&live->listing, lease->slot_us);
        listing_nothing(&live->listing);
        listing_nothing(&live->listing);
    }
}

static void list_all(struct live *live, bool is_json)
{
    const struct job_table *table = &live->roster->table;
    live->have_job = mem_array(live->leases.count + 1, sizeof live->have_job[0]);
    listing_start(&live->listing, columns, sizeof columns / sizeof columns[0], is_json);
    for (size_t i = 0; i < table->count; i++) {
        const struct entry *entry = roster_find(live->roster, table->jobs[i].name);
        if (entry != NULL && entry->slots.cron.kind == CRON_REBOOT)
            list_reboot_job(live, entry);
        else
            list_job(live, &table->jobs[i], entry);
    }
    list_other_keys(live);
    listing_end(&live->listing);
    free(live->have_job);
}

static int list_roster(const struct store_config *store, const struct roster *roster, bool is_json)
{
    struct error error;
    struct live live = {.roster = roster};
    struct store_request request = {.kind = STORE_STATUS};
    fill_items(&live);
    int code = 0;
    if (!recall(store, &live, &error) || !ask_store(store, &request, ASK_LIMITS, &error)) {
        code = say_error(&error);
    } else {
        live.leases = request.u.leases;
        list_all(&live, is_json);
        if (live.leases.count + roster->table.count == 0 && !is_json)
            puts("no job, and no lease");
        store_request_clear(&request);
    }
    free(live.items);
    return code;
}

/* The roster needs the table for a moment. */
int check_live(const struct store_config *store, struct job_table *table, bool is_json)
{
    struct error error;
    struct roster *roster;
    if (!roster_make(table, now_wall_us(), &roster, &error)) {
        *table = (struct job_table){0};
        return say_error(&error);
    }
    int code = list_roster(store, roster, is_json);
    *table = roster->table;
    roster->table = (struct job_table){0};
    roster_release(roster);
    return code;
}
