/* SPDX-License-Identifier: ISC */
#include "lease/renew.h"

#include "base/list.h"
#include "base/now.h"

static void ask(struct renew *renew);

static int64_t left_ms(const struct renew *renew)
{
    return lease_term_boot_ms(renew->lease) - now_boot_ms();
}

static void on_alarm(struct alarm *alarm)
{
    struct renew *renew = LIST_OBJECT(alarm, struct renew, alarm);
    /* After a stop of this process the deadline comes first: nothing is sent past it. */
    if (left_ms(renew) > 0)
        ask(renew);
}

static void on_renewed(struct renew *renew)
{
    renew->lease->sent_boot_ms = renew->request.sent_boot_ms;
    renew->told_count = 0;
    renew->error = (struct error){.kind = ERROR_NONE};
    backoff_reset(&renew->backoff);
    alarm_set_at(&renew->alarm, renew->lease->sent_boot_ms + renew->lease->timing.renew_every_ms);
    renew->listener->renewed(renew->owner);
}

static void tell_failure(struct renew *renew)
{
    const struct lease_timing *timing = &renew->lease->timing;
    int64_t left = left_ms(renew);
    int64_t whole = timing->ttl_ms - timing->margin_ms - timing->loss_grace_ms;
    int due_count = left < whole / 2 ? 2 : 1;
    if (renew->told_count >= due_count)
        return;
    renew->told_count = due_count;
    renew->listener->failed(renew->owner, &renew->error, left > 0 ? left : 0);
}

static void on_unanswered(struct renew *renew)
{
    alarm_set_in(&renew->alarm, backoff_next_ms(&renew->backoff));
    tell_failure(renew);
}

static void on_verdict(struct renew *renew)
{
    switch (renew->item.verdict) {
    case RENEW_RENEWED:
        on_renewed(renew);
        return;
    case RENEW_LOCKED:
        error_set(&renew->error, ERROR_STORE, "somebody holds a lock on the lease's row");
        on_unanswered(renew);
        return;
    case RENEW_LOST:
        renew->is_stopped = true;
        renew->listener->lost(renew->owner, renew->item.reason, renew->item.other);
        return;
    }
}

static void on_answer(struct store_request *request)
{
    struct renew *renew = request->owner;
    renew->is_asking = false;
    if (renew->is_stopped) {
        if (renew->listener->quiet != NULL)
            renew->listener->quiet(renew->owner);
        return;
    }
    if (request->outcome == STORE_ANSWERED) {
        on_verdict(renew);
    } else {
        renew->error = request->error;
        on_unanswered(renew);
    }
    renew->listener->settled(renew->owner);
}

static void ask(struct renew *renew)
{
    if (renew->is_asking || renew->is_stopped)
        return;
    /* What waits for a connection must not leave past the TERM instant either. */
    int64_t limit = left_ms(renew);
    if (limit > renew->lease->timing.attempt_ms)
        limit = renew->lease->timing.attempt_ms;
    renew->request = (struct store_request){
        .kind = STORE_RENEW,
        .limit_ms = limit,
        .done = on_answer,
        .owner = renew,
        .u.renew = {.items = &renew->item, .count = 1},
    };
    renew->is_asking = true;
    store_submit(renew->store, &renew->request);
}

void renew_start(struct renew *renew, uv_loop_t *loop, struct store *store, struct lease *lease,
                 const struct renew_listener *listener, void *owner)
{
    *renew = (struct renew){
        .lease = lease,
        .store = store,
        .listener = listener,
        .owner = owner,
        .backoff = {.first_ms = 50, .most_ms = LEASE_RETRY_MOST_MS},
        .item = {.key = lease->key,
                 .holder = lease->holder,
                 .fence = lease->fence,
                 .ttl_ms = lease->timing.ttl_ms},
    };
    alarm_init(&renew->alarm, loop, on_alarm);
    alarm_set_at(&renew->alarm, lease->sent_boot_ms + lease->timing.renew_every_ms);
}

void renew_now(struct renew *renew)
{
    if (!renew->is_stopped)
        alarm_set_in(&renew->alarm, 0);
}

void renew_stop(struct renew *renew)
{
    renew->is_stopped = true;
    alarm_stop(&renew->alarm);
    if (!renew->is_asking)
        return;
    store_cancel(renew->store, &renew->request);
    if (renew->request.sent_boot_ms != 0)
        store_hasten(renew->store, &renew->request, RENEW_STOP_MS);
}

bool renew_is_asking(const struct renew *renew)
{
    return renew->is_asking;
}

void renew_close(struct renew *renew, struct handles *handles)
{
    alarm_close(&renew->alarm, handles);
}
