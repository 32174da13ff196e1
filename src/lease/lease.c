/* SPDX-License-Identifier: ISC */
#include "lease/lease.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct lease_timing lease_timing(int64_t ttl_ms, int64_t grace_ms)
{
    struct lease_timing timing = {.ttl_ms = ttl_ms};
    timing.margin_ms = ttl_ms / 50 > 1000 ? ttl_ms / 50 : 1000;
    timing.loss_grace_ms = least(grace_ms, ttl_ms / 6);
    timing.renew_every_ms = (ttl_ms - timing.margin_ms - timing.loss_grace_ms) / 4;
    timing.attempt_ms = least(5000, ttl_ms / 12);
    return timing;
}

int64_t lease_survived_outage_ms(const struct lease_timing *timing)
{
    int64_t term_ms = timing->ttl_ms - timing->margin_ms - timing->loss_grace_ms;
    int64_t outage_ms = term_ms - timing->renew_every_ms - timing->attempt_ms - LEASE_RETRY_MOST_MS;
    return outage_ms > 0 ? outage_ms : 0;
}

int64_t lease_deadline_boot_ms(const struct lease *lease)
{
    return lease->sent_boot_ms + lease->timing.ttl_ms - lease->timing.margin_ms;
}

int64_t lease_term_boot_ms(const struct lease *lease)
{
    return lease_deadline_boot_ms(lease) - lease->timing.loss_grace_ms;
}
