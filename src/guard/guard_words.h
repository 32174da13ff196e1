/* SPDX-License-Identifier: ISC */
/* What leaserun says, and what the guard does about it. */
#pragma once
#include "guard/guard_state.h"

/* Does everything that was said so far. At the end of it, leaserun is gone: the tree is killed. */
void guard_words_read(struct guard *guard);
