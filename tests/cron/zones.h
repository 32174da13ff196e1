/* SPDX-License-Identifier: ISC */
/* Every zone of the system, and a reproducible random source. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define ZONES_FOLDER "/usr/share/zoneinfo"

/* Names as "Europe/Paris", in order; the array lives as long as the process. */
const char *const *zones_all(size_t *ret_count);

/* Makes localtime_r(3) that of the zone. */
void zones_use(const char *name);

/* The seed is that of CRON_TEST_SEED, else a new one; it is printed. */
void zones_seed(void);
int64_t zones_random(int64_t least, int64_t most);
