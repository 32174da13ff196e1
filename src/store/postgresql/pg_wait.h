/* SPDX-License-Identifier: ISC */
/* How a claim that waits hears of a release: it marks the row that holds it up, and whoever gives a
 * marked row back notifies. The mark is a write, so it is made once for each mandate that is waited
 * for, and nothing is written, notified or listened to where nobody waits. Listening belongs to a
 * session, which a transaction pooler gives to others: behind one, nothing of this is done.
 *
 * These are the steps of a claim that follow its HELD. The answer stands already: whatever fails
 * here only leaves the claim to its own polling. */
#pragma once
#include "store/postgresql/pg_ops.h"
#include "store/postgresql/pg_route.h"

#include <stdbool.h>

struct pg_wait { /* of one connection; zeroed for a new one */
    bool is_listening;
    enum pg_route route;
};

/* After the answers were read: the first step of those that are HELD and wait, or DONE. */
enum pg_next pg_wait_begin(struct pg_task *task);

bool pg_wait_is_under_way(const struct pg_task *task);
void pg_wait_build(struct pg_task *task, struct pg_statement *statement);
/* A row that was given back before it could be marked makes its claim RACED: it asks at once. */
enum pg_next pg_wait_read(struct pg_task *task, const PGresult *result);
