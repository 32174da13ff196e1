/* SPDX-License-Identifier: ISC */
#include "base/backoff.h"

#include "base/random.h"

int64_t backoff_next_ms(struct backoff *backoff)
{
    int64_t step = backoff->step_ms == 0 ? backoff->first_ms : backoff->step_ms * 2;
    backoff->step_ms = step > backoff->most_ms ? backoff->most_ms : step;
    int64_t half = backoff->step_ms / 2;
    return backoff->step_ms - random_below(half + 1);
}

void backoff_reset(struct backoff *backoff)
{
    backoff->step_ms = 0;
}
