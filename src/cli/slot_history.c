/* SPDX-License-Identifier: ISC */
#include "cli/slot_history.h"

#include "base/mem.h"
#include "cli/ask.h"
#include "cli/listing.h"
#include "cli/say.h"
#include "conf/job_table.h"
#include "cron/zone_instant.h"
#include "schedule/roster.h"

#include <stdio.h>
#include <stdlib.h>

static const struct listing_column columns[] = {
    {"slot", "SLOT"},     {"local", "LOCAL"},        {"outcome", "OUTCOME"},
    {"status", "STATUS"}, {"run_id", "RUN"},         {"fence", "FENCE"},
    {"holder", "HOLDER"}, {"started_at", "STARTED"}, {"finished_at", "FINISHED"},
};

/* The newest slots of the job up to now, newest first. Returns their number. */
static size_t find_slots(const struct entry *entry, int64_t now_us, size_t most,
                         int64_t *ret_slots_us)
{
    int64_t until_us = now_us;
    size_t count = 0;
    while (count < most) {
        int64_t slot_us = slots_latest(&entry->slots, INT64_MIN / 2, until_us);
        if (slot_us == NO_INSTANT)
            break;
        ret_slots_us[count++] = slot_us;
        until_us = slot_us - 1;
    }
    return count;
}

static void list_slot(struct listing *listing, const struct entry *entry, int64_t slot_us)
{
    char local[ZONE_INSTANT_MAX];
    const struct zone *zone = entry->slots.zone;
    listing_instant(listing, slot_us);
    listing_text(listing, listing->is_json ? zone_instant_format(zone, slot_us, local)
                                           : zone_instant_describe(zone, slot_us, local));
}

static void list_run(struct listing *listing, const struct run_row *run)
{
    listing_text(listing, run_outcome_name(run->outcome));
    if (run->status < 0)
        listing_nothing(listing);
    else
        listing_number(listing, run->status);
    listing_text(listing, run->run_id);
    listing_fence(listing, run->fence);
    listing_text(listing, run->holder);
    listing_instant(listing, run->started_us);
    listing_instant(listing, run->finished_us);
}

/* No store has heard of it: its window is still open, or nobody was there to try it. */
static void list_unknown(struct listing *listing, const struct entry *entry, int64_t slot_us,
                         int64_t now_us)
{
    int64_t window_ms = slots_window_ms(&entry->slots, slot_us, entry->job->start_within_ms);
    listing_text(listing, slot_us + window_ms * 1000 >= now_us ? "due" : "missed");
    for (size_t i = 3; i < sizeof columns / sizeof columns[0]; i++)
        listing_nothing(listing);
}

/* Both lists are by slot, newest first. A run whose slot is none of the schedule's, since that was
 * another one then, is told in its place. */
static void list_all(const struct entry *entry, const int64_t *slots_us, size_t count,
                     const struct run_list *runs, int64_t now_us, bool is_json)
{
    struct listing listing;
    size_t at = 0;
    listing_start(&listing, columns, sizeof columns / sizeof columns[0], is_json);
    for (size_t i = 0; i < count; i++) {
        for (; at < runs->count && runs->rows[at].slot_us >= slots_us[i]; at++) {
            list_slot(&listing, entry, runs->rows[at].slot_us);
            list_run(&listing, &runs->rows[at]);
        }
        bool is_known = at > 0 && runs->rows[at - 1].slot_us == slots_us[i];
        if (!is_known && slots_us[i] > runs->oldest_slot_us) {
            list_slot(&listing, entry, slots_us[i]);
            list_unknown(&listing, entry, slots_us[i], now_us);
        }
    }
    listing_end(&listing);
}

static int list_entry(struct invocation *invocation, const struct entry *entry)
{
    struct error error;
    int64_t now_us = now_wall_us();
    size_t most = (size_t)invocation->options.limit_count;
    int64_t *slots_us = mem_array(most, sizeof *slots_us);
    size_t count = find_slots(entry, now_us, most, slots_us);
    struct store_request request = {.kind = STORE_HISTORY};
    request.u.runs = (struct run_list){
        .key = entry->job->key,
        .is_of_slots = true,
        .from_us = count > 0 ? slots_us[count - 1] : now_us,
    };
    int code = 0;
    if (!ask_store(&invocation->store, &request, ASK_LIMITS, &error)) {
        code = say_error(&error);
    } else if (request.u.runs.oldest_slot_us == NO_INSTANT) {
        if (!invocation->options.is_json)
            puts("no slot of this job has been started yet");
    } else {
        list_all(entry, slots_us, count, &request.u.runs, now_us, invocation->options.is_json);
    }
    store_request_clear(&request);
    free(slots_us);
    return code;
}

static int list_job(struct invocation *invocation, struct job_table *table)
{
    struct error error;
    struct roster *roster;
    const char *name = invocation->options.operands[0];
    if (!roster_make(table, now_wall_us(), &roster, &error))
        return say_error(&error);
    const struct entry *entry = roster_find(roster, name);
    bool is_usable = false;
    if (entry == NULL)
        error_set(&error, ERROR_USAGE, "there is no enabled job \"%s\" in the job table", name);
    else if (!entry_has_slots(entry))
        error_set(&error, ERROR_USAGE, "job \"%s\" has no slots: @once and @reboot have none",
                  name);
    else
        is_usable = true;
    int code = is_usable ? list_entry(invocation, entry) : say_error(&error);
    roster_release(roster);
    return code;
}

int slot_history_list(struct invocation *invocation)
{
    struct options *options = &invocation->options;
    struct error error;
    struct config config;
    struct job_table table;
    struct ini_faults faults = {.count = 0};
    if (options->operand_count == 0) {
        error_set(&error, ERROR_USAGE, "--slots needs a job");
        return say_error(&error);
    }
    config_init(&config);
    if (options->config.path != NULL)
        config.path = mem_strdup(options->config.path);
    bool is_good = job_table_read(&config, options->operands + 1,
                                  (size_t)options->operand_count - 1, &table, &faults);
    int code = is_good ? list_job(invocation, &table) : say_faults(&faults);
    ini_faults_done(&faults);
    config_done(&config);
    return code;
}
