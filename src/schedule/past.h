/* SPDX-License-Identifier: ISC */
/* How far a job's past is told, as the row of its key keeps it: by which schedule, and until when
 * each slot has its story or was never due. Every winner writes what it knows; who starts asks for
 * the slots since then, also for those before later ones that are recorded: whoever knew of them
 * may have died. Jobs that share a key have one text for all of them. */
#pragma once
#include "schedule/roster.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

/* For the row, with the claim of that slot. False: what the store knew at the start is not known
 * yet, and the row's text is to stay. */
bool past_write(const struct entry *entry, int64_t slot_us, char ret_text[FINGERPRINT_MAX]);

/* Slots up to *ret_until_us are told. False: the text is another schedule's, or none. */
bool past_read(const struct entry *entry, const char *text, int64_t *ret_until_us);

/* Two texts of one schedule. */
bool past_is_same(const char *a, const char *b);
