/* SPDX-License-Identifier: ISC */
#include "store/sqlite/sqlite_liveness.h"

#include "base/identity.h"
#include "base/now.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel's number of the first time namespace (PROC_TIME_INIT_INO): its boot clock is the
 * machine's. */
#define FIRST_TIME_NAMESPACE UINT64_C(0xEFFFFFFA)

bool sqlite_self_read(struct sqlite_self *ret_self, struct error *err)
{
    struct sqlite_self self = {
        .can_see_processes = identity_proc_is_ours(),
        .pid_namespace = identity_namespace("pid"),
        .pid = getpid(),
        .start_ticks = identity_start_ticks(getpid()),
    };
    char boot_id[48];
    identity_boot_id(boot_id, sizeof boot_id);
    if (boot_id[0] == '\0')
        return error_set(err, ERROR_SYSTEM,
                         "cannot read /proc/sys/kernel/random/boot_id, without which a lease on "
                         "this host cannot be judged (is /proc mounted?)");
    uint64_t time_namespace = identity_namespace("time");
    self.is_boot_known = time_namespace == 0 || time_namespace == FIRST_TIME_NAMESPACE;
    if (self.is_boot_known)
        snprintf(self.clock, sizeof self.clock, "%s", boot_id);
    else
        snprintf(self.clock, sizeof self.clock, "%s/%" PRIu64, boot_id, time_namespace);
    *ret_self = self;
    return true;
}

struct sqlite_now sqlite_now(void)
{
    return (struct sqlite_now){.boot_ms = now_boot_ms(), .wall_us = now_wall_us()};
}

static bool is_gone(int64_t pid, int64_t start_ticks)
{
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return true;
    if (start_ticks < 0)
        return false;
    int64_t ticks = identity_start_ticks(pid);
    if (ticks >= 0)
        return ticks != start_ticks;
    /* A zombie, or one that /proc hides from us (hidepid): only the former may be read. */
    char path[48];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    return access(path, R_OK) == 0;
}

static bool holder_is_gone(const struct sqlite_self *self, const struct sqlite_row *row)
{
    if (!self->can_see_processes || row->pid <= 0 || row->pid_namespace != self->pid_namespace)
        return false;
    return is_gone(row->pid, row->start_ticks) &&
           (row->guard_pid == 0 || is_gone(row->guard_pid, row->guard_start_ticks));
}

static bool is_same_boot(const struct sqlite_self *self, const struct sqlite_row *row)
{
    size_t length = strcspn(self->clock, "/");
    return strcspn(row->clock, "/") == length && memcmp(self->clock, row->clock, length) == 0;
}

static bool was_before_this_boot(const struct sqlite_self *self, const struct sqlite_row *row,
                                 struct sqlite_now now)
{
    return self->is_boot_known && !is_same_boot(self, row) &&
           row->written_us < now.wall_us - now.boot_ms * 1000;
}

static struct sqlite_life judge_foreign(const struct sqlite_self *self,
                                        const struct sqlite_row *row, struct sqlite_now now)
{
    bool is_seen = strcmp(row->seen_clock, self->clock) == 0;
    int64_t left = row->ttl_ms - (is_seen ? now.boot_ms - row->seen_boot_ms : 0);
    if (left <= 0)
        return (struct sqlite_life){.is_live = false};
    return (struct sqlite_life){
        .is_live = true, .left_ms = left, .is_foreign = true, .is_unseen = !is_seen};
}

struct sqlite_life sqlite_liveness(const struct sqlite_self *self, const struct sqlite_row *row,
                                   struct sqlite_now now)
{
    const struct sqlite_life ended = {.is_live = false};
    if (!row->exists || row->is_released)
        return ended;
    if (strcmp(row->clock, self->clock) != 0)
        return was_before_this_boot(self, row, now) ? ended : judge_foreign(self, row, now);
    int64_t left = row->expires_boot_ms - now.boot_ms;
    if (left <= 0 || holder_is_gone(self, row))
        return ended;
    return (struct sqlite_life){.is_live = true, .left_ms = left};
}

int64_t sqlite_liveness_hold_ms(const struct sqlite_self *self, const struct sqlite_row *row,
                                struct sqlite_now now)
{
    if (!row->exists || row->hold_until_us == NO_INSTANT)
        return 0;
    int64_t whole = (row->hold_until_us - row->acquired_us) / 1000;
    int64_t left = (row->hold_until_us - now.wall_us) / 1000;
    if (strcmp(row->clock, self->clock) == 0)
        left = row->hold_boot_ms - now.boot_ms;
    if (left > whole) /* the wall clock was set back since another boot wrote this */
        left = whole;
    return left > 0 ? left : 0;
}
