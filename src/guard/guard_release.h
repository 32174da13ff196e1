/* SPDX-License-Identifier: ISC */
/* After leaserun's death: giving the lease back in its place. */
#pragma once
#include "guard/guard_state.h"

#define GUARD_RELEASE_LIMIT_MS 10000

/* Runs `leaserun release --store-fd N --holder HOLDER [--unstarted RUN] -- KEY` from the opened
 * binary and waits for it, at most GUARD_RELEASE_LIMIT_MS; kills it then. The tree is empty: this
 * is the only child. */
void guard_release(const struct guard *guard);
