/* SPDX-License-Identifier: ISC */
#include "schedule/upkeep.h"

#include "base/list.h"
#include "base/random.h"
#include "schedule/schedule_tell.h"
#include "schedule/scheduler.h"

#define EVERY_MS 3600000
#define LIMIT_MS 60000

static void on_store_closed(void *owner)
{
    struct upkeep *upkeep = owner;
    upkeep->store = NULL;
    if (upkeep->is_closing)
        upkeep->closed(upkeep);
    else
        alarm_set_in(&upkeep->alarm, EVERY_MS);
}

/* A store that is gone is told elsewhere. */
static void on_purged(struct store_request *request)
{
    struct upkeep *upkeep = request->owner;
    if (request->outcome == STORE_FAILED && request->failure != FAILURE_UNREACHABLE)
        schedule_tell_upkeep_failed(upkeep->scheduler, &request->error);
    if (!upkeep->is_closing)
        store_close(upkeep->store, on_store_closed, upkeep);
}

static void on_alarm(struct alarm *alarm)
{
    static const struct store_listener deaf = {.owner = NULL};
    struct upkeep *upkeep = LIST_OBJECT(alarm, struct upkeep, alarm);
    struct store_config config = *upkeep->scheduler->spec.store;
    struct error why;
    config.label = "purge";
    if (!store_open(upkeep->scheduler->loop, &config, &deaf, &upkeep->store, &why)) {
        schedule_tell_upkeep_failed(upkeep->scheduler, &why);
        alarm_set_in(alarm, EVERY_MS);
        return;
    }
    upkeep->request = (struct store_request){
        .kind = STORE_PURGE,
        .limit_ms = LIMIT_MS,
        .done = on_purged,
        .owner = upkeep,
        .u.purge = PURGE_USUAL,
    };
    store_submit(upkeep->store, &upkeep->request);
}

void upkeep_start(struct upkeep *upkeep, struct scheduler *scheduler, uv_loop_t *loop)
{
    *upkeep = (struct upkeep){.scheduler = scheduler};
    alarm_init(&upkeep->alarm, loop, on_alarm);
    alarm_set_in(&upkeep->alarm, random_below(EVERY_MS));
}

void upkeep_close(struct upkeep *upkeep, struct handles *handles,
                  void (*closed)(struct upkeep *upkeep))
{
    upkeep->is_closing = true;
    upkeep->closed = closed;
    alarm_close(&upkeep->alarm, handles);
    if (upkeep->store != NULL)
        store_close(upkeep->store, on_store_closed, upkeep);
    else
        closed(upkeep);
}
