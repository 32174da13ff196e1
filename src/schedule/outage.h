/* SPDX-License-Identifier: ISC */
/* The store goes and comes back: told once each, whichever of the two connections sees it first
 * and last. When it is back, what waits asks at once, and slots that had no answer get a turn. */
#pragma once
#include "base/error.h"
#include "loop/alarm.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct scheduler;

enum outage_side {
    OUTAGE_CLAIMS,
    OUTAGE_RENEWALS,
    OUTAGE_SIDE_COUNT
};

struct outage {
    struct scheduler *scheduler;
    struct outage_link {
        struct outage *outage;
        bool is_lost;
    } links[OUTAGE_SIDE_COUNT];
    struct alarm grave; /* it has lasted long enough for an error */
    struct error why;
    int64_t since_boot_ms; /* 0: the store is there */
    int late_count;        /* slots whose claim failed meanwhile */
};

void outage_init(struct outage *outage, struct scheduler *scheduler, uv_loop_t *loop);

/* For store_open. */
struct store_listener outage_listener(struct outage *outage, enum outage_side side);

/* A slot's claim has failed. */
void outage_note_late(struct outage *outage);

void outage_close(struct outage *outage, struct handles *handles);
