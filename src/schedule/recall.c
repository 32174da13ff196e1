/* SPDX-License-Identifier: ISC */
#include "schedule/recall.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/now.h"
#include "schedule/past.h"
#include "schedule/scheduler.h"

#include <stdlib.h>

#define PIECE    1000
#define LIMIT_MS 10000
#define KEPT_US  (30 * PURGE_DAY_MS * 1000) /* of older slots the rows may be gone */

static void ask(struct recall *recall);

/* ---- what an answer means ------------------------------------------------------------------- */

/* Those in (after, until]. Answers whether there were too many. */
static bool add_late(struct entry *entry, int64_t after_us, int64_t until_us)
{
    int64_t slots_us[SLOTS_BACKLOG_MOST];
    bool is_cut;
    int count = slots_backlog(&entry->slots, after_us, until_us, slots_us, &is_cut);
    for (int i = 0; i < count; i++)
        entry_add_late(entry, (struct owed_slot){.slot_us = slots_us[i]});
    return is_cut;
}

/* Those before the last one that is recorded come first: when there are too many, the oldest go.
 * Many of them have a row, and nothing is to be told then. */
static void apply(struct recall *recall, struct entry *entry, const struct recall_item *item)
{
    int64_t told_us, last_us = item->slot_us, kept_us = recall->start_us - KEPT_US;
    entry->is_recalled = true;
    if (!entry_has_slots(entry) || last_us == NO_INSTANT ||
        !past_read(entry, item->fingerprint, &told_us))
        return;
    if (told_us < last_us)
        add_late(entry, told_us > kept_us ? told_us : kept_us, last_us - 1);
    entry->is_cut |= add_late(entry, told_us > last_us ? told_us : last_us, recall->start_us);
}

/* At the start alone, as for every other command: a store that lacks our schema or denies us its
 * tables is a fault of the configuration. */
static bool is_refusal(const struct recall *recall)
{
    const struct store_request *request = &recall->request;
    return !recall->has_answered && request->outcome == STORE_FAILED &&
           (request->failure == FAILURE_SCHEMA || request->failure == FAILURE_RIGHTS);
}

static void refuse(struct recall *recall)
{
    recall->refused = recall->request.error;
    error_prefix(&recall->refused, "what became of job %s (key %s) cannot be asked",
                 recall->names[0], recall->items[0].key);
    alarm_set_in(&recall->again, 0); /* the store cannot be closed from within its answer */
}

static void on_answered(struct store_request *request)
{
    struct recall *recall = request->owner;
    struct scheduler *scheduler = recall->scheduler;
    recall->is_asking = false;
    if (request->outcome == STORE_ANSWERED && !recall->is_stale)
        for (size_t i = 0; i < request->u.recall.count; i++) {
            struct entry *entry = roster_find(scheduler->roster, recall->names[i]);
            if (entry != NULL && !entry->is_recalled)
                apply(recall, entry, &recall->items[i]);
        }
    bool is_refused = is_refusal(recall);
    if (is_refused)
        refuse(recall);
    recall->is_stale = false;
    roster_release(recall->roster);
    recall->roster = NULL;
    recall->has_answered |= request->outcome == STORE_ANSWERED;
    if (request->outcome == STORE_FAILED && !is_refused) {
        alarm_set_in(&recall->again, backoff_next_ms(&recall->backoff));
    } else if (request->outcome == STORE_ANSWERED) {
        scheduler_look_again(scheduler);
        ask(recall);
    }
}

/* ---- the question --------------------------------------------------------------------------- */

/* @once has no slots, and is asked for all the same: a store that cannot say whether it has
 * succeeded refuses here. */
static bool is_wanted(const struct entry *entry)
{
    bool has_past = entry_has_slots(entry) || entry->slots.cron.kind == CRON_ONCE;
    return !entry->is_recalled && has_past;
}

static size_t gather(struct recall *recall)
{
    const struct roster *roster = recall->scheduler->roster;
    size_t count = 0;
    for (size_t i = 0; i < roster->count && count < PIECE; i++) {
        const struct entry *entry = &roster->entries[i];
        if (!is_wanted(entry))
            continue;
        recall->items[count] =
            (struct recall_item){.key = entry->job->key,
                                 .job = entry->shares_key ? entry->job->name : NULL,
                                 .before_us = recall->start_us};
        recall->names[count++] = entry->job->name;
    }
    return count;
}

static void ask(struct recall *recall)
{
    size_t count = gather(recall);
    if (count == 0)
        return;
    recall->roster = roster_use(recall->scheduler->roster);
    recall->request = (struct store_request){
        .kind = STORE_RECALL,
        .limit_ms = LIMIT_MS,
        .done = on_answered,
        .owner = recall,
        .u.recall = {.items = recall->items, .count = count},
    };
    recall->is_asking = true;
    store_submit(recall->scheduler->claims, &recall->request);
}

static void on_again(struct alarm *alarm)
{
    struct recall *recall = LIST_OBJECT(alarm, struct recall, again);
    if (recall->refused.kind != ERROR_NONE)
        shutdown_refused(&recall->scheduler->shutdown, &recall->refused);
    else
        ask(recall);
}

void recall_start(struct recall *recall, struct scheduler *scheduler, uv_loop_t *loop)
{
    *recall = (struct recall){
        .scheduler = scheduler,
        .start_us = scheduler_now_us(scheduler),
        .items = mem_array(PIECE, sizeof *recall->items),
        .names = mem_array(PIECE, sizeof *recall->names),
        .backoff = {.first_ms = 100, .most_ms = 1000},
    };
    alarm_init(&recall->again, loop, on_again);
    ask(recall);
    recall->has_answered = !recall->is_asking; /* what a reload brings ends nothing that runs */
}

void recall_go_back(struct recall *recall, int64_t by_us)
{
    struct roster *roster = recall->scheduler->roster;
    for (size_t i = 0; i < roster->count; i++) {
        struct entry *entry = &roster->entries[i];
        entry->is_recalled &= entry->from_us > recall->start_us;
        entry->from_us -= by_us;
    }
    recall->start_us -= by_us;
    recall->is_stale = recall->is_asking;
    if (!recall->is_asking && !recall->again.is_set)
        ask(recall);
}

void recall_close(struct recall *recall, struct handles *handles)
{
    free(recall->items);
    free(recall->names);
    recall->items = NULL;
    recall->names = NULL;
    alarm_close(&recall->again, handles);
}
