/* SPDX-License-Identifier: ISC */
#include "world.h"

#include "base/mem.h"
#include "base/random.h"
#include "loop/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct world world;
static unsigned nonce_count;

struct pending {
    int64_t at_ms;
    int64_t number; /* of equal times the first that was asked for */
    struct replica *replica;
    void (*fn)(void *argument);
    void *argument;
};

static struct {
    struct pending *pending;
    size_t count, room;
    int64_t asked_count;
    struct replica *replicas[64]; /* that have alarms */
    int replica_count;
} plan;

void world_reset(uint64_t seed)
{
    world = (struct world){.chance = seed * 2654435761u + 1};
    plan.count = 0;
    plan.replica_count = 0;
    nonce_count = 0;
}

int64_t world_chance(int64_t least, int64_t most)
{
    world.chance ^= world.chance << 13;
    world.chance ^= world.chance >> 7;
    world.chance ^= world.chance << 17;
    return least + (int64_t)(world.chance % (uint64_t)(most - least + 1));
}

bool world_happens(int per_mille)
{
    return world_chance(0, 999) < per_mille;
}

void world_at(int64_t at_ms, struct replica *replica, void (*fn)(void *argument), void *argument)
{
    if (plan.count == plan.room) {
        plan.room = plan.room == 0 ? 64 : plan.room * 2;
        plan.pending = mem_grow(plan.pending, plan.room, sizeof *plan.pending);
    }
    plan.pending[plan.count++] = (struct pending){at_ms, plan.asked_count++, replica, fn, argument};
}

/* When it can happen: never once its replica has crashed. */
static int64_t time_of(int64_t at_ms, const struct replica *replica)
{
    if (replica == NULL)
        return at_ms;
    if (replica->is_crashed)
        return NEVER;
    return at_ms > replica->paused_ms ? at_ms : replica->paused_ms;
}

static bool find_pending(size_t *ret_index, int64_t *ret_at)
{
    *ret_at = NEVER;
    for (size_t i = 0; i < plan.count; i++) {
        int64_t at = time_of(plan.pending[i].at_ms, plan.pending[i].replica);
        bool is_first = at < *ret_at || (at == *ret_at && at != NEVER &&
                                         plan.pending[i].number < plan.pending[*ret_index].number);
        if (is_first) {
            *ret_at = at;
            *ret_index = i;
        }
    }
    return *ret_at != NEVER;
}

static struct alarm *find_alarm(struct replica **ret_replica, int64_t *ret_at)
{
    struct alarm *first = NULL;
    *ret_at = NEVER;
    for (int r = 0; r < plan.replica_count; r++) {
        struct replica *replica = plan.replicas[r];
        for (int i = 0; i < replica->alarm_count; i++) {
            int64_t at = time_of(replica->alarms[i]->due_boot_ms, replica);
            if (at < *ret_at) {
                *ret_at = at;
                first = replica->alarms[i];
                *ret_replica = replica;
            }
        }
    }
    return first;
}

static void drop_alarm(struct replica *replica, struct alarm *alarm)
{
    for (int i = 0; i < replica->alarm_count; i++)
        if (replica->alarms[i] == alarm)
            replica->alarms[i] = replica->alarms[--replica->alarm_count];
    alarm->is_set = false;
}

static void happen(size_t index)
{
    struct pending now = plan.pending[index];
    plan.pending[index] = plan.pending[--plan.count];
    world.current = now.replica;
    now.fn(now.argument);
    world.current = NULL;
}

static void ring(struct replica *replica, struct alarm *alarm)
{
    drop_alarm(replica, alarm);
    world.current = replica;
    alarm->ring(alarm);
    world.current = NULL;
}

void world_run(int64_t until_ms)
{
    for (;;) {
        size_t index = 0;
        int64_t pending_ms, alarm_ms;
        struct replica *replica = NULL;
        bool has_pending = find_pending(&index, &pending_ms);
        struct alarm *alarm = find_alarm(&replica, &alarm_ms);
        int64_t next_ms = pending_ms < alarm_ms ? pending_ms : alarm_ms;
        if (next_ms > until_ms || next_ms == NEVER)
            break;
        if (next_ms > world.now_ms)
            world.now_ms = next_ms;
        if (has_pending && pending_ms <= alarm_ms)
            happen(index);
        else
            ring(replica, alarm);
    }
    if (until_ms != NEVER)
        world.now_ms = until_ms;
}

/* ---- base/now.h, base/random.h -------------------------------------------------------------- */

int64_t now_boot_ms(void)
{
    return world.now_ms;
}

int64_t now_wall_us(void)
{
    int64_t skew_us = world.current == NULL ? 0 : world.current->skew_us;
    return WORLD_EPOCH_US + world.now_ms * 1000 + skew_us;
}

int64_t random_below(int64_t limit)
{
    return limit < 2 ? 0 : world_chance(0, limit - 1);
}

void random_nonce(char ret_nonce[RANDOM_NONCE_CHARS + 1])
{
    snprintf(ret_nonce, RANDOM_NONCE_CHARS + 1, "%026x", ++nonce_count);
}

size_t world_number_of(const char *run_id)
{
    size_t length = strlen(run_id);
    return strtoul(run_id + (length > 8 ? length - 8 : 0), NULL, 16);
}

/* ---- the host's name, the pool ----------------------------------------------------------------
 */

int gethostname(char *name, size_t room)
{
    snprintf(name, room, "host%d", world.current == NULL ? 0 : world.current->host);
    return 0;
}

bool pool_prepare(int thread_count, struct error *err)
{
    return true;
}

static void on_worked(void *argument)
{
    uv_work_t *work = argument;
    work->after_work_cb(work, 0);
}

int uv_queue_work(uv_loop_t *loop, uv_work_t *work, uv_work_cb work_cb, uv_after_work_cb after)
{
    work->after_work_cb = after;
    work_cb(work);
    world_at(world.now_ms + world_chance(0, 50), world.current, on_worked, work);
    return 0;
}

/* ---- loop/alarm.h, loop/handles.h ----------------------------------------------------------- */

void alarm_init(struct alarm *alarm, uv_loop_t *loop, alarm_cb ring_cb)
{
    *alarm = (struct alarm){.ring = ring_cb};
    alarm->timer.data = world.current;
}

static struct replica *owner_of(struct alarm *alarm)
{
    struct replica *replica = alarm->timer.data;
    for (int r = 0; r < plan.replica_count; r++)
        if (plan.replicas[r] == replica)
            return replica;
    int kept = 0; /* those of the past have no alarms */
    for (int r = 0; r < plan.replica_count; r++)
        if (plan.replicas[r]->alarm_count > 0)
            plan.replicas[kept++] = plan.replicas[r];
    assert_true(kept < (int)CASE_COUNT(plan.replicas));
    plan.replicas[kept++] = replica;
    plan.replica_count = kept;
    return replica;
}

void alarm_set_at(struct alarm *alarm, int64_t boot_ms)
{
    struct replica *replica = owner_of(alarm);
    alarm_stop(alarm);
    alarm->due_boot_ms = boot_ms;
    alarm->is_set = true;
    assert_true(replica->alarm_count < (int)CASE_COUNT(replica->alarms));
    replica->alarms[replica->alarm_count++] = alarm;
}

void alarm_set_in(struct alarm *alarm, int64_t ms)
{
    alarm_set_at(alarm, now_boot_ms() + ms);
}

void alarm_stop(struct alarm *alarm)
{
    if (alarm->is_set)
        drop_alarm(owner_of(alarm), alarm);
    alarm->is_set = false;
}

static void on_closed(void *argument)
{
    struct handles *handles = argument;
    if (--handles->closing_count == 0 && handles->closed != NULL)
        handles->closed(handles);
}

int uv_is_closing(const uv_handle_t *handle)
{
    return handle->flags != 0; /* nobody else sets any here */
}

void alarm_close(struct alarm *alarm, struct handles *handles)
{
    if (uv_is_closing((uv_handle_t *)&alarm->timer))
        return;
    alarm_stop(alarm);
    alarm->timer.flags = 1;
    handles->closing_count++;
    world_at(world.now_ms, world.current, on_closed, handles);
}

void handles_close(struct handles *handles, uv_handle_t *handle)
{
}

/* ---- loop/clock_watch.h ---------------------------------------------------------------------- */

int clock_watch_open(struct clock_watch *watch, uv_loop_t *loop, clock_watch_cb stepped)
{
    *watch = (struct clock_watch){.stepped = stepped};
    world.current->clock_watch = watch;
    return 0;
}

void clock_watch_close(struct clock_watch *watch, struct handles *handles)
{
    world.current->clock_watch = NULL;
}
