/* SPDX-License-Identifier: ISC */
/* Instants as text with a zone. */
#pragma once
#include "cron/zone.h"

#define ZONE_INSTANT_MAX 64

/* "2027-03-28T03:00:00+02:00" (RFC 3339). */
const char *zone_instant_format(const struct zone *zone, int64_t wall_us,
                                char ret_text[ZONE_INSTANT_MAX]);

/* For people: "Sun 2027-03-28 03:00:00 CEST". */
const char *zone_instant_describe(const struct zone *zone, int64_t wall_us,
                                  char ret_text[ZONE_INSTANT_MAX]);

/* "2027-03-28", "2027-03-28 03:00", "2027-03-28T03:00:00", with "Z" or "+02:00" behind a time;
 * without either it is local time of the zone: the first of two instants, and in a gap of the
 * clock that of the change. Fractions of a second are cut to microseconds. On failure ERROR_CONFIG
 * and a sentence. */
bool zone_instant_parse(const struct zone *zone, const char *text, int64_t *ret_us,
                        struct error *err);
