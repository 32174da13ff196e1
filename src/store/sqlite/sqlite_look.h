/* SPDX-License-Identifier: ISC */
/* What a claim finds, and what it has to write. Looking takes no lock. */
#pragma once
#include "store/sqlite/sqlite_liveness.h"
#include "store/sqlite/sqlite_row.h"

enum sqlite_move {
    MOVE_NOTHING, /* the item's verdict is final */
    MOVE_WIN,
    MOVE_MISS,    /* the slot's window is over: record it, first to tell */
    MOVE_SKIP,    /* the slot is given up, since the key is held: the same */
    MOVE_GIVE_UP, /* the interrupted run has been started often enough */
    MOVE_SIGHT,   /* held on another clock: note since when the row is unchanged */
};

/* Of a claim that takes a run over: the run as it is. */
struct sqlite_interrupted {
    int64_t starts;
    char holder[IDENTITY_HOLDER_MAX];
};

struct sqlite_look {
    struct claim_item *item;
    struct sqlite_row row;
    struct sqlite_now now;
    struct sqlite_life life;
    bool is_again;   /* our own claim, whose reply was lost */
    bool is_made_up; /* the slot has a row that says missed or skipped, and it gives way */
    struct sqlite_interrupted interrupted;
    enum sqlite_move move;
};

/* Fills the rest for look->item, and the item's answer as far as it is known. */
bool sqlite_look(struct sqlite_link *link, struct sqlite_look *look);
