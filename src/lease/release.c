/* SPDX-License-Identifier: ISC */
#include "lease/release.h"

#include "base/list.h"
#include "base/now.h"

#define LEAST_LIMIT_MS 100

static void ask(struct release *release);

static void finish(struct release *release)
{
    alarm_stop(&release->alarm);
    release->finished(release->owner);
}

static void on_answer(struct store_request *request)
{
    struct release *release = request->owner;
    release->is_asking = false;
    if (request->outcome == STORE_ANSWERED) {
        release->is_done = true;
        finish(release);
        return;
    }
    release->error = request->error;
    int64_t left = release->give_up_boot_ms - now_boot_ms();
    /* A right that is missing now may be granted again: only a verdict is final here. */
    if (left <= 0) {
        finish(release);
        return;
    }
    int64_t delay = backoff_next_ms(&release->backoff);
    alarm_set_in(&release->alarm, delay < left ? delay : left);
}

static void on_alarm(struct alarm *alarm)
{
    struct release *release = LIST_OBJECT(alarm, struct release, alarm);
    if (release->give_up_boot_ms <= now_boot_ms())
        finish(release);
    else
        ask(release);
}

static void ask(struct release *release)
{
    int64_t left = release->give_up_boot_ms - now_boot_ms();
    if (left > release->attempt_ms)
        left = release->attempt_ms;
    if (now_boot_ms() >= release->output_until_boot_ms) {
        release->item.output_tail = NULL;
        release->item.output_tail_length = 0;
    }
    release->request = (struct store_request){
        .kind = release->kind,
        .limit_ms = left < LEAST_LIMIT_MS ? LEAST_LIMIT_MS : left,
        .done = on_answer,
        .owner = release,
        .u.release = {.items = &release->item, .count = 1},
    };
    release->is_asking = true;
    store_submit(release->store, &release->request);
}

static void start(struct release *release, uv_loop_t *loop, struct store *store,
                  const struct lease *lease, int64_t limit_ms, void (*finished)(void *owner),
                  void *owner)
{
    /* A connection may have died in silence: there must be time for another. */
    int64_t attempt_ms = lease->timing.attempt_ms;
    *release = (struct release){
        .store = store,
        .finished = finished,
        .owner = owner,
        .item = {.key = lease->key,
                 .holder = lease->holder,
                 .fence = lease->fence,
                 .run_id = lease->run_id,
                 .status = -1,
                 .hold_ms = lease->hold_ms},
        .backoff = {.first_ms = 5, .most_ms = 500},
        .attempt_ms = attempt_ms < limit_ms / 2 ? attempt_ms : limit_ms / 2,
        .give_up_boot_ms = now_boot_ms() + limit_ms,
        .output_until_boot_ms = now_boot_ms() + limit_ms / 2,
    };
    alarm_init(&release->alarm, loop, on_alarm);
}

void release_start(struct release *release, uv_loop_t *loop, struct store *store,
                   const struct lease *lease, const struct release_record *record, int64_t limit_ms,
                   void (*finished)(void *owner), void *owner)
{
    start(release, loop, store, lease, limit_ms, finished, owner);
    release->kind = STORE_RELEASE;
    release->item.outcome = record->outcome;
    release->item.status = record->status;
    release->item.output_tail = record->output_tail_length > 0 ? record->output_tail : NULL;
    release->item.output_tail_length = record->output_tail_length;
    ask(release);
}

void release_start_undo(struct release *release, uv_loop_t *loop, struct store *store,
                        const struct lease *lease, int64_t limit_ms, void (*finished)(void *owner),
                        void *owner)
{
    start(release, loop, store, lease, limit_ms, finished, owner);
    release->kind = STORE_UNDO;
    ask(release);
}

void release_hasten(struct release *release, int64_t ms)
{
    int64_t soon = now_boot_ms() + ms;
    if (soon >= release->give_up_boot_ms)
        return;
    release->give_up_boot_ms = soon;
    if (release->output_until_boot_ms > soon - ms / 2)
        release->output_until_boot_ms = soon - ms / 2;
    if (release->is_asking)
        store_hasten(release->store, &release->request, ms);
    else if (release->alarm.is_set && release->alarm.due_boot_ms > soon)
        alarm_set_at(&release->alarm, soon);
}

void release_close(struct release *release, struct handles *handles)
{
    alarm_close(&release->alarm, handles);
}
