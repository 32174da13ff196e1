/* SPDX-License-Identifier: ISC */
#include "cron/cron_hash.h"

#include <stddef.h>

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME  UINT64_C(0x100000001b3)

static uint64_t mix(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 32;
}

uint64_t cron_hash_text(const char *text)
{
    uint64_t hash = FNV_OFFSET;
    for (const char *at = text; at != NULL && *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * FNV_PRIME;
    return mix(hash);
}

uint64_t cron_hash_with(uint64_t hash, uint64_t number)
{
    for (int i = 0; i < 8; i++, number >>= 8)
        hash = (hash ^ (number & 0xff)) * FNV_PRIME;
    return mix(hash);
}
