/* SPDX-License-Identifier: ISC */
#include "base/random.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/random.h>

static void fill(void *bytes, size_t count)
{
    /* Requests of up to 256 bytes are answered whole or, before the pool is ready, interrupted. */
    while (getrandom(bytes, count, 0) != (ssize_t)count)
        if (errno != EINTR)
            abort();
}

void random_nonce(char ret_nonce[RANDOM_NONCE_CHARS + 1])
{
    unsigned char bytes[RANDOM_NONCE_CHARS];
    fill(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        ret_nonce[i] = RANDOM_NONCE_DIGITS[bytes[i] & 31];
    ret_nonce[RANDOM_NONCE_CHARS] = '\0';
}

int64_t random_below(int64_t limit)
{
    if (limit < 2)
        return 0;
    uint64_t value;
    fill(&value, sizeof value);
    return (int64_t)(value % (uint64_t)limit);
}
