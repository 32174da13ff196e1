/* SPDX-License-Identifier: ISC */
#include "schedule/outage.h"

#include "base/list.h"
#include "base/now.h"
#include "schedule/schedule_tell.h"
#include "schedule/scheduler.h"
#include "schedule/turn.h"

#define GRAVE_MS 30000

static void on_lost(void *owner, const struct error *why)
{
    struct outage_link *link = owner;
    struct outage *outage = link->outage;
    link->is_lost = true;
    outage->why = *why;
    if (outage->since_boot_ms != 0)
        return;
    outage->since_boot_ms = now_boot_ms();
    outage->late_count = 0;
    alarm_set_in(&outage->grave, GRAVE_MS);
    schedule_tell_store_lost(outage->scheduler, why);
}

static void on_grave(struct alarm *alarm)
{
    struct outage *outage = LIST_OBJECT(alarm, struct outage, grave);
    schedule_tell_store_down(outage->scheduler, &outage->why,
                             now_boot_ms() - outage->since_boot_ms);
}

static int count_missed(const struct scheduler *scheduler)
{
    int count = 0;
    for (size_t i = 0; i < scheduler->roster->count; i++)
        count += scheduler->roster->entries[i].late_count;
    return count;
}

static void on_restored(void *owner)
{
    struct outage_link *link = owner;
    struct outage *outage = link->outage;
    struct scheduler *scheduler = outage->scheduler;
    link->is_lost = false;
    if (outage->links[OUTAGE_CLAIMS].is_lost || outage->links[OUTAGE_RENEWALS].is_lost ||
        outage->since_boot_ms == 0)
        return;
    schedule_tell_store_restored(scheduler, now_boot_ms() - outage->since_boot_ms,
                                 outage->late_count, count_missed(scheduler));
    outage->since_boot_ms = 0;
    alarm_stop(&outage->grave);
    for (struct list *at = scheduler->turns.next; at != &scheduler->turns; at = at->next) {
        struct turn *turn = LIST_OBJECT(at, struct turn, node);
        if (turn->state == TURN_RUNNING)
            run_store_is_back(&turn->run);
    }
    takeover_look(&scheduler->takeover);
    scheduler_look_again(scheduler);
}

static void on_note(void *owner, bool is_grave, const char *text)
{
    struct outage_link *link = owner;
    if (link == &link->outage->links[OUTAGE_CLAIMS]) /* both see the same store */
        schedule_tell_store_note(link->outage->scheduler, is_grave, text);
}

void outage_init(struct outage *outage, struct scheduler *scheduler, uv_loop_t *loop)
{
    *outage = (struct outage){.scheduler = scheduler};
    for (int side = 0; side < OUTAGE_SIDE_COUNT; side++)
        outage->links[side].outage = outage;
    alarm_init(&outage->grave, loop, on_grave);
}

struct store_listener outage_listener(struct outage *outage, enum outage_side side)
{
    return (struct store_listener){
        .lost = on_lost,
        .restored = on_restored,
        .note = on_note,
        .owner = &outage->links[side],
    };
}

void outage_note_late(struct outage *outage)
{
    outage->late_count++;
}

void outage_close(struct outage *outage, struct handles *handles)
{
    alarm_close(&outage->grave, handles);
}
