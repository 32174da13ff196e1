/* SPDX-License-Identifier: ISC */
/* Time zones by name, read from the system's zone data (TZDIR, else /usr/share/zoneinfo) in the
 * format of RFC 8536. A zone is read once, never changes and lives as long as the process: any
 * number of schedules share it. */
#pragma once
#include "base/error.h"
#include "cron/civil.h"

#include <stdbool.h>
#include <stdint.h>

struct zone;

/* The zone of that name. NULL with ERROR_CONFIG and a sentence that tells an unknown zone, a name
 * that can be none (absolute, with ".."), a broken file and missing zone data apart. "UTC" and
 * "Etc/UTC" need no data. */
const struct zone *zone_find(const char *name, struct error *err);

/* The zone that this host's clock shows: TZ, else /etc/localtime, else UTC. */
const struct zone *zone_host(struct error *err);

const struct zone *zone_utc(void);

/* Its IANA name; "" for a host's zone whose name cannot be known. */
const char *zone_name(const struct zone *zone);

/* True when its clock is UTC at all times, whatever the zone's name. */
bool zone_is_utc(const struct zone *zone);

/* A time without a change of the clock. */
struct zone_span {
    int64_t start_s;           /* the instant of the change; INT64_MIN: none before */
    int64_t end_s;             /* the instant of the next one; INT64_MAX: none to come */
    int32_t offset_s;          /* local time minus UTC */
    int32_t previous_offset_s; /* before start_s; offset_s when there was no change */
    const char *abbreviation;  /* "CEST"; lives as long as the zone */
};

/* The span that holds the instant (seconds since 1970 UTC). */
void zone_span_at(const struct zone *zone, int64_t at_s, struct zone_span *ret_span);

/* Local time at an instant, cut to the second. */
struct civil zone_to_civil(const struct zone *zone, int64_t wall_us);

/* The instants at which the zone's clock shows a local time: 1, in an overlap 2 (the earlier one
 * first), in a gap 0: then ret_us[0] is the instant of the change. */
int zone_from_civil(const struct zone *zone, const struct civil *civil, int64_t ret_us[2]);
