/* SPDX-License-Identifier: ISC */
#include "schedule/reload.h"

#include "base/list.h"
#include "base/mem.h"
#include "loop/pool.h"
#include "schedule/schedule_tell.h"
#include "schedule/scheduler.h"
#include "schedule/table_look.h"
#include "schedule/turn.h"

#include <stdlib.h>
#include <string.h>

/* ---- from the old table to the new ---------------------------------------------------------- */

static bool has_same_slots(const struct entry *a, const struct entry *b)
{
    return slots_fingerprint(&a->slots) == slots_fingerprint(&b->slots) &&
           a->slots.offset_us == b->slots.offset_us;
}

/* A job that is new has no past, and no start of the scheduler (@reboot) either. */
static void become_new(struct entry *entry)
{
    entry->is_recalled = true;
    entry->since_us = entry->from_us;
    entry->has_settled = entry->slots.cron.kind == CRON_REBOOT;
}

static void carry_over(struct entry *entry, struct entry *old)
{
    const struct entry fresh = *entry;
    *entry = *old;
    entry->job = fresh.job;
    entry->slots = fresh.slots;
    entry->fingerprint = fresh.fingerprint;
    entry->shares_key = fresh.shares_key;
    entry->next_sharing = fresh.next_sharing;
    if (old->fingerprint != fresh.fingerprint) /* others share its key now, or did */
        entry->since_us = fresh.from_us;
    entry->turn_count = 0;
    old->late = NULL;
    old->late_count = 0;
}

static void carry_entries(struct scheduler *scheduler, struct roster *fresh)
{
    for (size_t i = 0; i < fresh->count; i++) {
        struct entry *entry = &fresh->entries[i];
        struct entry *old = roster_find(scheduler->roster, entry->job->name);
        if (old != NULL && has_same_slots(entry, old))
            carry_over(entry, old);
        else
            become_new(entry);
    }
}

/* A turn of a job that is gone, or has other slots now, is called off unless its command runs. */
static void carry_turn(struct scheduler *scheduler, struct roster *fresh, struct turn *turn)
{
    struct entry *old = turn->entry;
    struct entry *entry = roster_find(fresh, turn->job->name);
    bool is_kept = old != NULL && entry != NULL && has_same_slots(entry, old);
    if (turn->state == TURN_OVER || !is_kept)
        entry = NULL;
    if (entry != NULL)
        entry->turn_count++;
    if (old != NULL && turn->state != TURN_OVER)
        old->turn_count--;
    turn->entry = entry;
    if (entry == NULL && turn->state != TURN_OVER)
        turn_call_off(turn);
}

static void swap(struct scheduler *scheduler, struct roster *fresh)
{
    struct list *next;
    for (struct list *at = scheduler->turns.next; at != &scheduler->turns; at = next) {
        next = at->next;
        carry_turn(scheduler, fresh, LIST_OBJECT(at, struct turn, node));
    }
    due_clear(&scheduler->due); /* it has places in the roster that goes */
    roster_release(scheduler->roster);
    scheduler->roster = fresh;
}

static bool take(struct reload *reload)
{
    struct scheduler *scheduler = reload->scheduler;
    struct roster *fresh;
    struct error why;
    bool is_shared = !store_url_is_local(scheduler->spec.store->url);
    if (!reload->is_read || !job_table_check_store(&reload->table, is_shared, &reload->faults)) {
        job_table_done(&reload->table);
        return false;
    }
    if (!roster_make(&reload->table, scheduler_now_us(scheduler), &fresh, &why))
        return ini_faults_add(&reload->faults, 0, "%s", why.text);
    carry_entries(scheduler, fresh);
    swap(scheduler, fresh);
    scheduler->settings = reload->config.schedule;
    return true;
}

/* ---- reading it ----------------------------------------------------------------------------- */

static uint64_t look(const struct reload *reload)
{
    const struct job_table *table = &reload->scheduler->roster->table;
    return table_look(table->files, table->file_count);
}

static void watch_files(struct reload *reload)
{
    const struct scheduler *scheduler = reload->scheduler;
    const struct job_table *table = &scheduler->roster->table;
    bool is_watched = scheduler->settings.is_watched;
    table_watch_set(&reload->watch, table->files, is_watched ? table->file_count : 0);
    reload->looks = look(reload);
}

static void finish(struct reload *reload)
{
    struct scheduler *scheduler = reload->scheduler;
    if (take(reload)) {
        scheduler_look_again(scheduler);
        takeover_look(&scheduler->takeover);
        schedule_tell_reloaded(scheduler);
        watch_files(reload);
        places_resize(&scheduler->places, scheduler->settings.max_running);
    } else {
        schedule_tell_reload_failed(scheduler, &reload->faults);
    }
}

static void read_table(uv_work_t *work)
{
    struct reload *reload = LIST_OBJECT(work, struct reload, work);
    const struct scheduler_spec *spec = &reload->scheduler->spec;
    reload->is_read = job_table_read(&reload->config, spec->paths, spec->path_count, &reload->table,
                                     &reload->faults);
}

static void on_read(uv_work_t *work, int status)
{
    struct reload *reload = LIST_OBJECT(work, struct reload, work);
    reload->is_reading = false;
    if (reload->is_closing)
        job_table_done(&reload->table);
    else
        finish(reload);
    ini_faults_done(&reload->faults);
    config_done(&reload->config);
    if (reload->is_closing)
        reload->closed(reload);
    else if (reload->is_wanted)
        reload_begin(reload);
}

void reload_begin(struct reload *reload)
{
    struct scheduler *scheduler = reload->scheduler;
    struct error why;
    reload->is_wanted = reload->is_reading;
    if (reload->is_reading || reload->is_closing)
        return;
    reload->faults = (struct ini_faults){.count = 0};
    if (!pool_prepare(1, &why)) {
        ini_faults_add(&reload->faults, 0, "%s", why.text);
        schedule_tell_reload_failed(scheduler, &reload->faults);
        ini_faults_done(&reload->faults);
        return;
    }
    config_init(&reload->config);
    free(reload->config.path);
    reload->config.path = mem_strdup(scheduler->spec.config_path);
    reload->is_reading = true;
    uv_queue_work(scheduler->loop, &reload->work, read_table, on_read);
}

/* Much happens in a folder that has nothing to do with the table; and a fault is told once. */
static void on_changed(struct table_watch *watch)
{
    struct reload *reload = LIST_OBJECT(watch, struct reload, watch);
    uint64_t looks = look(reload);
    if (looks == reload->looks)
        return;
    reload->looks = looks;
    reload_begin(reload);
}

void reload_init(struct reload *reload, struct scheduler *scheduler, uv_loop_t *loop)
{
    *reload = (struct reload){.scheduler = scheduler};
    table_watch_init(&reload->watch, loop, on_changed);
    watch_files(reload);
}

void reload_close(struct reload *reload, struct handles *handles,
                  void (*closed)(struct reload *reload))
{
    reload->is_closing = true;
    reload->closed = closed;
    table_watch_close(&reload->watch, handles);
    if (!reload->is_reading)
        closed(reload);
}
