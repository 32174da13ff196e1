/* SPDX-License-Identifier: ISC */
/* The rule behind a zone's last change, in the form of POSIX's TZ variable, as TZif footers have
 * it: "CET-1CEST,M3.5.0,M10.5.0/3". Hours of a change may be -167 to 167 (RFC 8536, 3.3.1). */
#pragma once
#include "cron/zone_file.h"

/* Adds what the rule says after the zone's last change; for a zone without any type or change the
 * rule holds at all times. False with a sentence when it is none. */
bool zone_rule_apply(struct zone *zone, const char *rule, struct error *err);
