/* SPDX-License-Identifier: ISC */
/* The hourly purge, on a connection of its own that lasts as long as it takes: neither claims nor
 * renewals wait behind it. The first comes at a random moment of the first hour, so that replicas
 * started together do not purge together. */
#pragma once
#include "loop/alarm.h"
#include "store/store.h"

#include <stdbool.h>

struct scheduler;

struct upkeep {
    struct scheduler *scheduler;
    struct store *store; /* open during a purge */
    struct store_request request;
    struct alarm alarm;
    bool is_closing;
    void (*closed)(struct upkeep *upkeep);
};

void upkeep_start(struct upkeep *upkeep, struct scheduler *scheduler, uv_loop_t *loop);

/* Gives a purge up. Calls closed from the loop, or from here when there is nothing to wait for; the
 * alarm remains to be closed by *handles. */
void upkeep_close(struct upkeep *upkeep, struct handles *handles,
                  void (*closed)(struct upkeep *upkeep));
