/* SPDX-License-Identifier: ISC */
/* What a turn asks of the store, and what the answer means for its job: the part of turn.c that
 * knows slots, streaks and policies. */
#pragma once
#include "schedule/turn.h"

/* The caller frees. */
char *turn_claim_key(const struct entry *entry);

/* How long after its slot the turn may start; below 0: without end. */
int64_t turn_claim_window_ms(const struct turn *turn);

void turn_claim_fill(struct turn *turn, struct run_spec *ret_spec);

/* Whether a key that is held is waited for. */
bool turn_claim_may_wait(const struct turn *turn);

/* The turn's run is over: for jobs without slots, what comes next. */
void turn_claim_note_end(struct turn *turn);
