/* SPDX-License-Identifier: ISC */
/* How a scheduler begins and ends. */
#include "base/list.h"
#include "base/now.h"
#include "schedule/schedule_tell.h"
#include "schedule/scheduler.h"

static bool open_stores(struct scheduler *scheduler, struct error *err)
{
    struct store **stores[OUTAGE_SIDE_COUNT] = {&scheduler->claims, &scheduler->renewals};
    static const char *const labels[OUTAGE_SIDE_COUNT] = {"schedule, claims", "schedule, renewals"};
    for (int side = 0; side < OUTAGE_SIDE_COUNT; side++) {
        struct store_config config = *scheduler->spec.store;
        struct store_listener listener =
            outage_listener(&scheduler->outage, (enum outage_side)side);
        config.label = labels[side];
        if (!store_open(scheduler->loop, &config, &listener, stores[side], err)) {
            if (side > 0)
                store_close(scheduler->claims, NULL, NULL);
            return false;
        }
    }
    return true;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void on_all_closed(struct handles *handles)
{
    struct scheduler *scheduler = LIST_OBJECT(handles, struct scheduler, handles);
    roster_release(scheduler->roster);
    due_done(&scheduler->due);
    scheduler->finished(scheduler);
}

static void on_renewals_closed(void *owner)
{
    struct scheduler *scheduler = owner;
    struct handles *handles = &scheduler->handles;
    recall_close(&scheduler->recall, handles);
    takeover_close(&scheduler->takeover, handles);
    outage_close(&scheduler->outage, handles);
    shutdown_close(&scheduler->shutdown, handles);
    clock_watch_close(&scheduler->clock, handles);
    alarm_close(&scheduler->places_pause, handles);
    alarm_close(&scheduler->wake, handles);
}

static void on_claims_closed(void *owner)
{
    struct scheduler *scheduler = owner;
    store_close(scheduler->renewals, on_renewals_closed, scheduler);
}

static void on_upkeep_closed(struct upkeep *upkeep)
{
    store_close(upkeep->scheduler->claims, on_claims_closed, upkeep->scheduler);
}

static void on_reload_closed(struct reload *reload)
{
    struct scheduler *scheduler = reload->scheduler;
    upkeep_close(&scheduler->upkeep, &scheduler->handles, on_upkeep_closed);
}

/* Handles close along the way; the last ones after the stores. */
void scheduler_close(struct scheduler *scheduler)
{
    reload_close(&scheduler->reload, &scheduler->handles, on_reload_closed);
}

void scheduler_abandon(struct scheduler *scheduler)
{
    scheduler->is_abandoned = true;
    scheduler->finished(scheduler);
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* Closed handles are counted from the first on: the last must not be taken for it. */
static void on_some_closed(struct handles *handles)
{
    struct scheduler *scheduler = LIST_OBJECT(handles, struct scheduler, handles);
    if (uv_is_closing((uv_handle_t *)&scheduler->wake.timer))
        on_all_closed(handles);
}

/* Not 0: libuv would come to it before it looks at any descriptor. */
static void on_places_pause(struct places *places)
{
    alarm_set_in(&LIST_OBJECT(places, struct scheduler, places)->places_pause, 1);
}

static void on_pause_over(struct alarm *alarm)
{
    places_go_on(&LIST_OBJECT(alarm, struct scheduler, places_pause)->places);
}

static void on_hooks_idle(void *owner)
{
    struct scheduler *scheduler = owner;
    shutdown_note_turn(&scheduler->shutdown);
}

bool scheduler_start(struct scheduler *scheduler, uv_loop_t *loop,
                     const struct scheduler_spec *spec, struct job_table *table,
                     void (*finished)(struct scheduler *scheduler), struct error *err)
{
    *scheduler = (struct scheduler){
        .spec = *spec, .loop = loop, .settings = spec->config->schedule, .finished = finished};
    scheduler->handles.closed = on_some_closed;
    list_init(&scheduler->turns);
    if (!roster_make(table, now_wall_us(), &scheduler->roster, err))
        return false;
    outage_init(&scheduler->outage, scheduler, loop);
    if (!open_stores(scheduler, err)) {
        outage_close(&scheduler->outage, &scheduler->handles);
        roster_release(scheduler->roster);
        scheduler->roster = NULL;
        return false;
    }
    places_init(&scheduler->places, scheduler->settings.max_running, on_places_pause);
    alarm_init(&scheduler->places_pause, loop, on_pause_over);
    hooks_init(&scheduler->hooks, loop, spec->log, spec->environment, spec->signals, on_hooks_idle,
               scheduler);
    alarm_init(&scheduler->wake, loop, scheduler_on_wake);
    shutdown_init(&scheduler->shutdown, scheduler, loop);
    reload_init(&scheduler->reload, scheduler, loop);
    upkeep_start(&scheduler->upkeep, scheduler, loop);
    scheduler_watch_clock(scheduler);
    recall_start(&scheduler->recall, scheduler, loop);
    takeover_start(&scheduler->takeover, scheduler, loop);
    scheduler_look_again(scheduler);
    schedule_tell_ready(scheduler);
    return true;
}
