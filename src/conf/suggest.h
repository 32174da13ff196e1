/* SPDX-License-Identifier: ISC */
/* "did you mean ...?" for a mistyped name. */
#pragma once
#include "base/error.h"

/* Of two candidates the one that is nearer to what was typed; NULL when neither is near: an edit
 * for every three letters, at most three. nearest may be NULL. */
const char *suggest_nearer(const char *typed, const char *nearest, const char *candidate);

/* Adds "; did you mean PREFIXnearest?" to a sentence, nothing when nearest is NULL. Returns
 * false. */
bool suggest_add(struct error *err, const char *nearest, const char *prefix);
