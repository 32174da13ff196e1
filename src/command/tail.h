/* SPDX-License-Identifier: ISC */
/* The last bytes of a stream. */
#pragma once
#include "base/text.h"

struct tail {
    size_t most;
    struct text text; /* up to twice as many */
};

void tail_add(struct tail *tail, const char *bytes, size_t count);

/* The last `most` bytes, or as many as there were; until the next change. */
const char *tail_bytes(const struct tail *tail, size_t *ret_length);

void tail_done(struct tail *tail);
