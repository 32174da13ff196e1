/* SPDX-License-Identifier: ISC */
#include "schedule/roster.h"

#include "base/mem.h"
#include "cron/cron_hash.h"

#include <stdlib.h>
#include <string.h>

#define OFFSETS 999 /* microseconds: what is shown in seconds stays the same */

static bool fill_entry(struct entry *entry, const struct job *job, int64_t now_us,
                       struct error *err)
{
    *entry = (struct entry){.job = job,
                            .base_us = now_us,
                            .from_us = now_us,
                            .since_us = NO_INSTANT,
                            .oldest_turn_us = INT64_MAX,
                            .tried_us = NO_INSTANT,
                            .known_us = NO_INSTANT,
                            .again_us = now_us};
    if (!cron_parse(job->schedule, job->key, &entry->slots.cron, err))
        return false;
    entry->slots.zone = job->timezone != NULL ? zone_find(job->timezone, err) : zone_host(err);
    if (entry->slots.zone == NULL)
        return false;
    entry->fingerprint = slots_fingerprint(&entry->slots);
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    const struct entry *const *left = a, *const *right = b;
    int by_key = strcmp((*left)->job->key, (*right)->job->key);
    return by_key != 0 ? by_key : strcmp((*left)->job->name, (*right)->job->name);
}

/* In the order of their names, so that it is the same wherever the same jobs share the key. */
static void join(struct entry **entries, size_t count)
{
    uint64_t fingerprint = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t name = cron_hash_text(entries[i]->job->name);
        fingerprint = cron_hash_with(fingerprint, cron_hash_with(name, entries[i]->fingerprint));
        entries[i]->shares_key = true;
        entries[i]->next_sharing = entries[(i + 1) % count];
    }
    for (size_t i = 0; i < count; i++)
        entries[i]->fingerprint = fingerprint;
}

static void join_all(struct entry **sorted, size_t count)
{
    size_t first = 0;
    for (size_t i = 1; i <= count; i++) {
        if (i < count && strcmp(sorted[first]->job->key, sorted[i]->job->key) == 0)
            continue;
        if (i - first > 1)
            join(&sorted[first], i - first);
        first = i;
    }
}

/* A slot belongs to a key: of two jobs with one key, the second would find it started. */
static void set_offsets_apart(struct roster *roster)
{
    struct entry **sorted = mem_array(roster->count + 1, sizeof(struct entry *));
    for (size_t i = 0; i < roster->count; i++)
        sorted[i] = &roster->entries[i];
    qsort(sorted, roster->count, sizeof(struct entry *), compare_keys);
    join_all(sorted, roster->count);
    for (size_t i = 0; i < roster->count; i++) {
        struct entry *entry = sorted[i];
        bool is_keys_own = strcmp(entry->job->name, entry->job->key) == 0;
        if (entry->shares_key && !is_keys_own)
            entry->slots.offset_us = (int64_t)(cron_hash_text(entry->job->name) % OFFSETS) + 1;
    }
    free(sorted);
}

bool roster_make(struct job_table *table, int64_t now_us, struct roster **ret_roster,
                 struct error *err)
{
    struct roster *roster = mem_alloc(sizeof *roster);
    roster->use_count = 1;
    roster->table = *table;
    roster->entries = mem_array(table->count + 1, sizeof *roster->entries);
    for (size_t i = 0; i < table->count; i++) {
        const struct job *job = &table->jobs[i];
        if (!job->is_enabled || job->schedule == NULL)
            continue;
        if (!fill_entry(&roster->entries[roster->count], job, now_us, err)) {
            error_prefix(err, "%s:%d: [job %s]", job->file, job->line, job->name);
            roster_release(roster);
            return false;
        }
        roster->count++;
    }
    set_offsets_apart(roster);
    *ret_roster = roster;
    return true;
}

struct roster *roster_use(struct roster *roster)
{
    roster->use_count++;
    return roster;
}

void roster_release(struct roster *roster)
{
    if (roster == NULL || --roster->use_count > 0)
        return;
    for (size_t i = 0; i < roster->count; i++)
        free(roster->entries[i].late);
    free(roster->entries);
    job_table_done(&roster->table);
    free(roster);
}

struct entry *roster_find(const struct roster *roster, const char *name)
{
    const struct job *job = job_table_find(&roster->table, name);
    size_t least = 0, most = roster->count;
    if (job == NULL)
        return NULL;
    while (least < most) { /* the entries are in the order of the jobs */
        size_t middle = least + (most - least) / 2;
        if (roster->entries[middle].job < job)
            least = middle + 1;
        else
            most = middle;
    }
    bool is_it = least < roster->count && roster->entries[least].job == job;
    return is_it ? &roster->entries[least] : NULL;
}

bool entry_has_slots(const struct entry *entry)
{
    return entry->slots.cron.kind == CRON_CALENDAR || entry->slots.cron.kind == CRON_EVERY;
}

bool entry_repeats_within_minute(const struct entry *entry)
{
    return cron_repeats_within_minute(&entry->slots.cron);
}

void entry_go_back(struct entry *entry, int64_t base_us)
{
    entry->base_us = base_us;
    if (entry->tried_us > base_us)
        entry->tried_us = entry->known_us;
    while (entry->late_count > 0 && entry->late[entry->late_count - 1].slot_us > base_us) {
        entry->late_count--;
        entry->is_cut = false;
    }
    if (entry->late_count == 0) {
        free(entry->late);
        entry->late = NULL;
    }
}

void entry_add_late(struct entry *entry, struct owed_slot late)
{
    if (entry->late == NULL)
        entry->late = mem_array(SLOTS_BACKLOG_MOST, sizeof *entry->late);
    if (entry->late_count == SLOTS_BACKLOG_MOST)
        entry_take_late(entry);
    int at = entry->late_count;
    while (at > 0 && entry->late[at - 1].slot_us > late.slot_us)
        at--;
    if (at > 0 && entry->late[at - 1].slot_us == late.slot_us)
        return;
    memmove(&entry->late[at + 1], &entry->late[at],
            (size_t)(entry->late_count - at) * sizeof *entry->late);
    entry->late[at] = late;
    entry->late_count++;
}

struct owed_slot entry_take_late(struct entry *entry)
{
    struct owed_slot oldest = entry->late[0];
    entry->late_count--;
    memmove(&entry->late[0], &entry->late[1], (size_t)entry->late_count * sizeof *entry->late);
    if (entry->late_count == 0) {
        free(entry->late);
        entry->late = NULL;
    }
    return oldest;
}
