/* SPDX-License-Identifier: ISC */
/* Who may run: as many turns at a time as max-running says, and as descriptors last. The others
 * wait in the order of their slots, before they claim: what waits here may start elsewhere. */
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
};

void places_init(struct places *places, int64_t max_running);
void places_resize(struct places *places, int64_t max_running); /* who waits may be called */

/* Calls given, from here or later. */
void places_ask(struct places *places, struct place *place);

/* Gives back what is held, or waits no longer; whoever is next is called from here. */
void places_leave(struct places *places, struct place *place);
