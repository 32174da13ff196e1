/* SPDX-License-Identifier: ISC */
#include "schedule/places.h"

#include "base/now.h"

#include <sys/resource.h>

/* Descriptors of a run: to its guard, and two pipes with an end that is closed soon. */
#define FDS_EACH 5
#define FDS_OURS 48 /* stores, signals, timers, a module being loaded, a file being read */

static int64_t most_by_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return INT64_MAX;
    int64_t most = ((int64_t)limit.rlim_cur - FDS_OURS) / FDS_EACH;
    return most < 1 ? 1 : most;
}

static int64_t limit_of(int64_t max_running)
{
    int64_t most = most_by_descriptors();
    return max_running > 0 && max_running < most ? max_running : most;
}

void places_init(struct places *places, int64_t max_running, void (*pause)(struct places *places))
{
    *places = (struct places){.most = limit_of(max_running), .pause = pause};
    list_init(&places->waiting);
}

static void give(struct places *places, struct place *place)
{
    int64_t begun_boot_ms = now_boot_ms();
    if (begun_boot_ms > places->row_end_boot_ms + 1) /* something else was done between */
        places->row_ms = 0;
    list_remove(&place->node);
    place->is_waiting = false;
    place->is_taken = true;
    places->taken_count++;
    place->given(place);
    places->row_end_boot_ms = now_boot_ms();
    places->row_ms += places->row_end_boot_ms - begun_boot_ms;
}

static void call_next(struct places *places)
{
    while (!places->is_pausing && places->taken_count < places->most &&
           !list_is_empty(&places->waiting)) {
        if (places->row_ms >= PLACES_ROW_MS) {
            places->is_pausing = true;
            places->pause(places);
        } else {
            give(places, LIST_OBJECT(places->waiting.next, struct place, node));
        }
    }
}

void places_go_on(struct places *places)
{
    places->is_pausing = false;
    places->row_ms = 0;
    call_next(places);
}

void places_resize(struct places *places, int64_t max_running)
{
    places->most = limit_of(max_running);
    call_next(places);
}

void places_ask(struct places *places, struct place *place)
{
    struct list *after = places->waiting.previous;
    while (after != &places->waiting &&
           LIST_OBJECT(after, struct place, node)->slot_us > place->slot_us)
        after = after->previous;
    list_push(after->next, &place->node);
    place->is_waiting = true;
    call_next(places);
}

void places_leave(struct places *places, struct place *place)
{
    if (place->is_waiting)
        list_remove(&place->node);
    places->taken_count -= place->is_taken;
    place->is_waiting = place->is_taken = false;
    call_next(places);
}
