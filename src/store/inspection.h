/* SPDX-License-Identifier: ISC */
/* What a backend finds out for STORE_INSPECT, as it finds it. */
#pragma once
#include "store/store.h"

/* owner is the struct inspection: the form of a callback. The fault is copied. */
void inspection_add_fault(void *owner, const struct error *fault);

/* Takes the text over. */
void inspection_add_note(struct inspection *inspection, char *owned_text);
