/* SPDX-License-Identifier: ISC */
/* The phases of an operation on both tables, one after the other, and what our own tables are asked
 * in theirs. */
#pragma once
#include "store/postgresql/pg_ops.h"

/* Where an operation stands. */
enum pg_foreign_phase {
    PG_FOREIGN_START, /* nothing is built yet */
    PG_FOREIGN_FACTS, /* the catalog, when it is not known */
    PG_FOREIGN_LOOK,  /* at the other table, without lock */
    PG_FOREIGN_OWN,   /* our own tables */
    PG_FOREIGN_TABLE, /* the other table */
    PG_FOREIGN_SKIP,  /* our own tables: a slot that is given up since a foreign program holds */
    PG_FOREIGN_UNDO,  /* our own tables: what was won there alone */
    PG_FOREIGN_END,
};

struct pg_foreign_work {
    enum pg_foreign_phase phase;
    struct pg_task own;               /* the part of our own tables, */
    struct store_request own_request; /* and what is asked of them, where it is not the request */
    struct claim_item **claims;       /* of the request: those that are still to be won */
    size_t claim_count;
    struct claim_item *own_claims; /* copies of these, for our own tables */
    struct release_item *amends;   /* of SKIP or UNDO */
    bool is_skipping_locked;       /* the renewal that passes locked rows over */
    bool has_schema;               /* INSPECT: ours is there, whole or not */
    enum revoke_verdict table_verdict;
    char *description; /* INSPECT */
};
void pg_foreign_work_free(struct pg_foreign_work *work); /* takes NULL */

/* Makes task->work, in the first phase that is due. */
void pg_foreign_phase_begin(struct pg_task *task);

/* Goes on to the next phase that is due. DONE: there is none. */
enum pg_next pg_foreign_phase_next(struct pg_task *task);

bool pg_foreign_phase_is_own(enum pg_foreign_phase phase);
