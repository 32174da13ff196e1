/* SPDX-License-Identifier: ISC */
/* The delay before the next attempt: doubling from first_ms, capped at most_ms, and of that a
 * random part from a half to the whole, so that contenders do not retry in step. */
#pragma once
#include <stdint.h>

struct backoff {
    int64_t first_ms;
    int64_t most_ms;
    int64_t step_ms; /* 0 before the first delay */
};

int64_t backoff_next_ms(struct backoff *backoff);
void backoff_reset(struct backoff *backoff);
