/* SPDX-License-Identifier: ISC */
/* One mandate as its holder sees it: who, what, and until when. A value; claim fills it, renew
 * moves its deadline, release ends it. All timing is derived from ttl and grace (leaserun(7)). */
#pragma once
#include "base/identity.h"
#include "store/store.h"

#include <stdint.h>

struct lease_timing {
    int64_t ttl_ms;
    int64_t margin_ms;      /* max(1 s, ttl/50): the tree is dead this long before expiry */
    int64_t loss_grace_ms;  /* min(grace, ttl/6): TERM to KILL when the lease runs out */
    int64_t renew_every_ms; /* (ttl - margin - loss grace) / 4 */
    int64_t attempt_ms;     /* min(5 s, ttl/12): an unanswered attempt is given up after this */
};

#define LEASE_TTL_LEAST_MS   5000
#define LEASE_TTL_DEFAULT_MS 180000

struct lease_timing lease_timing(int64_t ttl_ms, int64_t grace_ms);

/* A renewal that failed is repeated within this. */
#define LEASE_RETRY_MOST_MS 1000

/* The longest outage of the store that a running command survives wherever it falls: less than the
 * time to TERM by the renewal that was due, the attempt that was under way when it ended, and the
 * pause after that. */
int64_t lease_survived_outage_ms(const struct lease_timing *timing);

struct lease {
    const char *key;
    const char *job; /* NULL for none */
    char holder[IDENTITY_HOLDER_MAX];
    char run_id[IDENTITY_RUN_ID_MAX];
    int64_t fence; /* 0 until won; then > 0, or FENCE_ABSENT */
    int64_t slot_us;
    int64_t hold_ms; /* once won: it is not to be free again before this, from the claim */
    struct lease_timing timing;
    int64_t sent_boot_ms; /* of the last claim or renewal that succeeded */
};

/* KILL no later than this: before the sending of what last succeeded + ttl - margin. */
int64_t lease_deadline_boot_ms(const struct lease *lease);
/* TERM at this. */
int64_t lease_term_boot_ms(const struct lease *lease);
