/* SPDX-License-Identifier: ISC */
/* The two clocks. Durations and deadlines are counted on CLOCK_BOOTTIME, in milliseconds since
 * boot, suspended time included; instants that people read are CLOCK_REALTIME, in microseconds
 * since 1970 UTC. The two are never compared with each other. */
#pragma once
#include <stdint.h>

#define NO_INSTANT INT64_MIN /* where an instant may be absent */

int64_t now_boot_ms(void);
int64_t now_wall_us(void);

/* Tests own time: from this call on now_boot_ms and now_wall_us answer what was set here. */
void now_freeze(int64_t boot_ms, int64_t wall_us);
void now_advance_ms(int64_t ms); /* both clocks; only after now_freeze */
