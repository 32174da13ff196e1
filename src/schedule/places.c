/* SPDX-License-Identifier: ISC */
#include "schedule/places.h"

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

void places_init(struct places *places, int64_t max_running)
{
    *places = (struct places){.most = limit_of(max_running)};
    list_init(&places->waiting);
}

static void call_next(struct places *places)
{
    while (places->taken_count < places->most && !list_is_empty(&places->waiting)) {
        struct place *place = LIST_OBJECT(places->waiting.next, struct place, node);
        list_remove(&place->node);
        place->is_waiting = false;
        place->is_taken = true;
        places->taken_count++;
        place->given(place);
    }
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
