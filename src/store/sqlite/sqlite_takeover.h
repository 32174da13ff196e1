/* SPDX-License-Identifier: ISC */
/* The part of a claim that takes an interrupted run over; the lease is judged as for any claim. */
#pragma once
#include "store/sqlite/sqlite_look.h"

/* Fills look->interrupted. ret_is_settled: the run is not interrupted, at least not as the item
 * says, and the verdict is final. */
bool sqlite_takeover_look(struct sqlite_link *link, struct sqlite_look *look, bool *ret_is_settled);

/* Of a look that may win: unless the run has been started too often. */
void sqlite_takeover_judge(struct sqlite_look *look);

/* The run's row, within the write transaction. */
bool sqlite_takeover_win(struct sqlite_link *link, const struct sqlite_look *look, int64_t fence);
bool sqlite_takeover_give_up(struct sqlite_link *link, const struct sqlite_look *look);
