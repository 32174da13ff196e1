/* SPDX-License-Identifier: ISC */
/* Who may run: as many turns at a time as max-running says, and as descriptors last. The others
 * wait in the order of their slots, before they claim: what waits here may start elsewhere.
 *
 * Who gets a place may start a process, which takes milliseconds. Of a thousand in a row all else
 * in the loop would wait, renewals too: so there are pauses between. */
#pragma once
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct place {
    struct list node; /* among the waiting */
    int64_t slot_us;
    void (*given)(struct place *place);
    bool is_waiting, is_taken;
};

struct places {
    struct list waiting;
    int64_t most; /* 0: no limit */
    int64_t taken_count;
    int64_t row_ms, row_end_boot_ms; /* how long places were given in a row, and until when */
    void (*pause)(struct places *places);
    bool is_pausing;
};

#define PLACES_ROW_MS 20 /* of places given in a row, then comes a pause */

/* pause: places_go_on is to be called from a later turn of the loop. */
void places_init(struct places *places, int64_t max_running, void (*pause)(struct places *places));
void places_go_on(struct places *places);
void places_resize(struct places *places, int64_t max_running); /* who waits may be called */

/* Calls given, from here or later. */
void places_ask(struct places *places, struct place *place);

/* Gives back what is held, or waits no longer; whoever is next is called from here. */
void places_leave(struct places *places, struct place *place);
