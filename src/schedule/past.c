/* SPDX-License-Identifier: ISC */
#include "schedule/past.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FINGERPRINT_CHARS 16 /* in hexadecimal digits, then '-' and the instant, 15 at most */
#define INSTANT_MASK      UINT64_C(0xfffffffffffffff)

/* Until before the oldest slot that is due, waits or has its turn, and the one that is claimed. */
static int64_t told_until_us(const struct entry *entry, int64_t slot_us)
{
    int64_t oldest_us = slot_us;
    if (entry->turn_count > 0 && entry->oldest_turn_us < oldest_us)
        oldest_us = entry->oldest_turn_us;
    if (entry->late_count > 0 && entry->late[0].slot_us < oldest_us)
        oldest_us = entry->late[0].slot_us;
    int64_t next_us =
        entry->base_us < oldest_us ? slots_next(&entry->slots, entry->base_us) : oldest_us;
    if (next_us != NO_INSTANT && next_us < oldest_us)
        oldest_us = next_us;
    return oldest_us - 1 > entry->since_us ? oldest_us - 1 : entry->since_us;
}

bool past_write(const struct entry *entry, int64_t slot_us, char ret_text[FINGERPRINT_MAX])
{
    const struct entry *one = entry;
    int64_t until_us = slot_us;
    do {
        if (entry_has_slots(one)) {
            int64_t its_us = told_until_us(one, slot_us);
            until_us = its_us < until_us ? its_us : until_us;
            if (!one->is_recalled)
                return false;
        }
        one = one->shares_key ? one->next_sharing : entry;
    } while (one != entry);
    uint64_t until = until_us > 0 ? (uint64_t)until_us & INSTANT_MASK : 0;
    snprintf(ret_text, FINGERPRINT_MAX, "%016" PRIx64 "-%" PRIx64, entry->fingerprint, until);
    return true;
}

bool past_read(const struct entry *entry, const char *text, int64_t *ret_until_us)
{
    uint64_t fingerprint, until = 0;
    char rest;
    int count = sscanf(text, "%16" SCNx64 "-%15" SCNx64 "%c", &fingerprint, &until, &rest);
    *ret_until_us = (int64_t)until;
    return count == 2 && fingerprint == entry->fingerprint;
}

bool past_is_same(const char *a, const char *b)
{
    return strncmp(a, b, FINGERPRINT_CHARS) == 0;
}
