/* SPDX-License-Identifier: ISC */
#include "schedule/takeover.h"

#include "base/list.h"
#include "base/mem.h"
#include "schedule/scheduler.h"
#include "schedule/turn.h"

#include <stdlib.h>
#include <string.h>

#define PIECE    1000
#define EVERY_MS 5000
#define LIMIT_MS 5000

static void ask(struct takeover *takeover);

static bool is_wanted(const struct entry *entry)
{
    return entry->job->if_interrupted == JOB_IF_INTERRUPTED_RERUN && entry_has_slots(entry);
}

/* ---- what an answer means ------------------------------------------------------------------- */

static bool is_under_way(const struct scheduler *scheduler, const struct interrupted_run *run)
{
    for (struct list *at = scheduler->turns.next; at != &scheduler->turns; at = at->next)
        if (strcmp(LIST_OBJECT(at, struct turn, node)->interrupted.run_id, run->run_id) == 0)
            return true;
    return false;
}

static void begin(struct scheduler *scheduler, const struct recall_item *item)
{
    const struct interrupted_run *run = &item->interrupted;
    if (run->run_id[0] == '\0' || is_under_way(scheduler, run))
        return;
    struct entry *entry = roster_find(scheduler->roster, item->job);
    if (entry != NULL && is_wanted(entry))
        turn_begin_takeover(scheduler, entry, run);
}

static void on_answered(struct store_request *request)
{
    struct takeover *takeover = request->owner;
    struct scheduler *scheduler = takeover->scheduler;
    bool is_stopping = scheduler->shutdown.is_begun;
    takeover->is_asking = false;
    if (request->outcome == STORE_ANSWERED && !is_stopping)
        for (size_t i = 0; i < request->u.recall.count; i++)
            begin(scheduler, &takeover->items[i]);
    bool is_of_old_table = takeover->roster != scheduler->roster;
    roster_release(takeover->roster);
    takeover->roster = NULL;
    if (is_stopping)
        return;
    if (is_of_old_table)
        takeover->next = 0;
    if (request->outcome == STORE_ANSWERED && takeover->next > 0)
        ask(takeover);
    else
        alarm_set_in(&takeover->again, EVERY_MS);
}

/* ---- the question --------------------------------------------------------------------------- */

/* From next on; next is 0 when these were the last. */
static size_t gather(struct takeover *takeover)
{
    const struct roster *roster = takeover->scheduler->roster;
    size_t count = 0, at = takeover->next;
    for (; at < roster->count && count < PIECE; at++) {
        const struct job *job = roster->entries[at].job;
        if (!is_wanted(&roster->entries[at]))
            continue;
        if (takeover->items == NULL)
            takeover->items = mem_array(PIECE, sizeof *takeover->items);
        takeover->items[count++] =
            (struct recall_item){.key = job->key, .job = job->name, .wants_interrupted = true};
    }
    takeover->next = at < roster->count ? at : 0;
    return count;
}

static void ask(struct takeover *takeover)
{
    struct scheduler *scheduler = takeover->scheduler;
    bool is_more = takeover->next > 0;
    size_t count = gather(takeover);
    if (count == 0) { /* no job wants it, or no further one */
        if (is_more)
            alarm_set_in(&takeover->again, EVERY_MS);
        return;
    }
    takeover->roster = roster_use(scheduler->roster);
    takeover->request = (struct store_request){
        .kind = STORE_RECALL,
        .limit_ms = LIMIT_MS,
        .done = on_answered,
        .owner = takeover,
        .u.recall = {.items = takeover->items, .count = count},
    };
    takeover->is_asking = true;
    store_submit(scheduler->renewals, &takeover->request);
}

void takeover_look(struct takeover *takeover)
{
    if (takeover->is_asking || takeover->scheduler->shutdown.is_begun)
        return;
    takeover->next = 0;
    ask(takeover);
}

static void on_again(struct alarm *alarm)
{
    takeover_look(LIST_OBJECT(alarm, struct takeover, again));
}

void takeover_start(struct takeover *takeover, struct scheduler *scheduler, uv_loop_t *loop)
{
    *takeover = (struct takeover){.scheduler = scheduler};
    alarm_init(&takeover->again, loop, on_again);
    takeover_look(takeover);
}

void takeover_close(struct takeover *takeover, struct handles *handles)
{
    free(takeover->items);
    takeover->items = NULL;
    alarm_close(&takeover->again, handles);
}
