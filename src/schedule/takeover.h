/* SPDX-License-Identifier: ISC */
/* Runs that were interrupted: their scheduler was stopped, or died. For jobs with if-interrupted =
 * rerun the store is asked every few seconds, one question for a thousand of them, and each run
 * that it tells of gets a turn (turn_begin_takeover); whoever claims it first begins it again. */
#pragma once
#include "loop/alarm.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>

struct scheduler;
struct roster;

struct takeover {
    struct scheduler *scheduler;
    struct store_request request;
    struct recall_item *items; /* NULL: nobody has asked yet */
    struct roster *roster;     /* which has the items' names, while it is asked */
    size_t next;               /* of the roster's entries: the first of the next question */
    struct alarm again;
    bool is_asking;
};

void takeover_start(struct takeover *takeover, struct scheduler *scheduler, uv_loop_t *loop);

/* The store is back, or there is another table: asks now. */
void takeover_look(struct takeover *takeover);

void takeover_close(struct takeover *takeover, struct handles *handles); /* after its store */
