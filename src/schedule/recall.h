/* SPDX-License-Identifier: ISC */
/* What the store knows of the slots that passed, asked at the start in pieces and repeated until it
 * is answered. Slots since all were told (past.h) get a turn: those that may still start, and those
 * whose story is to be told, because nobody was there or whoever knew of them has died. An edited
 * schedule has no past. */
#pragma once
#include "base/backoff.h"
#include "loop/alarm.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scheduler;
struct roster;

struct recall {
    struct scheduler *scheduler;
    int64_t start_us; /* later slots are not asked about: they have their turns */
    struct store_request request;
    struct recall_item *items;
    const char **names;    /* of the items' jobs */
    struct roster *roster; /* which has the names, while it is asked */
    struct alarm again;
    struct backoff backoff;
    struct error refused; /* kind is ERROR_NONE: it is not */
    bool is_asking;
    bool has_answered; /* once, or had no question: what fails after that may be mended */
    bool is_stale;     /* what is asked is not what should have been */
};

void recall_start(struct recall *recall, struct scheduler *scheduler, uv_loop_t *loop);
/* This clock was ahead by so much when the scheduler started: what was learnt is asked anew. */
void recall_go_back(struct recall *recall, int64_t by_us);
void recall_close(struct recall *recall, struct handles *handles); /* after its store */
