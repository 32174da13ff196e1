/* SPDX-License-Identifier: ISC */
/* Whether a lease row still means somebody. Expiry counts on CLOCK_BOOTTIME, so steps of the wall
 * clock change nothing; a holder whose processes are gone holds nothing, as with flock(2).
 *
 * What is judged, and how:
 *   - a row of our own clock (this boot, our time namespace): by its expires_boot_ms; ended at once
 *     when leaserun *and* its guard are gone, which can be known only in our pid namespace;
 *   - a row of another boot, last written before this boot began by the wall clock: ended;
 *   - any other row: two hosts (or two time namespaces) share the file. It is live until it has
 *     stayed unchanged for its ttl since it was first seen by this clock (seen_clock,
 *     seen_boot_ms in the row). */
#pragma once
#include "store/sqlite/sqlite_row.h"

#include <stdbool.h>
#include <stdint.h>

/* Who we are and what we can judge. Read once; tests put another boot in its place. */
struct sqlite_self {
    char clock[SQLITE_CLOCK_MAX]; /* boot id, with "/" and the inode in a time namespace */
    bool is_boot_known;           /* now_wall - now_boot is when this boot began */
    bool can_see_processes;       /* /proc shows our own pid namespace */
    uint64_t pid_namespace;
    int64_t pid;
    int64_t start_ticks;
};

/* Fails (ERROR_SYSTEM) where /proc does not tell the boot id. */
bool sqlite_self_read(struct sqlite_self *ret_self, struct error *err);

struct sqlite_now {
    int64_t boot_ms;
    int64_t wall_us;
};

struct sqlite_now sqlite_now(void);

struct sqlite_life {
    bool is_live;
    int64_t left_ms; /* live: until it may end */
    bool is_foreign; /* live by the last rule */
    bool is_unseen;  /* foreign, and not yet marked as seen by this clock */
};

struct sqlite_life sqlite_liveness(const struct sqlite_self *self, const struct sqlite_row *row,
                                   struct sqlite_now now);

/* What is left of hold-at-least, 0 for nothing. */
int64_t sqlite_liveness_hold_ms(const struct sqlite_self *self, const struct sqlite_row *row,
                                struct sqlite_now now);
