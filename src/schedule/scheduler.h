/* SPDX-License-Identifier: ISC */
/* Keeps a job table: starts every slot once, among however many replicas do the same on one store,
 * and says what became of it.
 *
 * The story, file by file: due.c knows which job is next. At its instant scheduler.c begins a turn
 * (turn.c): one slot of one job, from the queue (places.c) through a run (run/run.h) to its end.
 * What passed while nobody was there recall.c asks the store for, runs that were interrupted
 * takeover.c. outage.c tells when the store goes and comes back; slots that had no answer get
 * another turn then. reload.c takes another table, shutdown.c ends it all, upkeep.c purges. What is
 * said stands in schedule_tell.c.
 *
 * Clocks: slots are instants of the wall clock; the alarm is set on the boot clock and looks at the
 * wall clock again when it rings. Whether a slot may start the store's clock judges. */
#pragma once
#include "conf/config.h"
#include "loop/clock_watch.h"
#include "run/hooks.h"
#include "run/run.h"
#include "schedule/due.h"
#include "schedule/outage.h"
#include "schedule/places.h"
#include "schedule/recall.h"
#include "schedule/reload.h"
#include "schedule/roster.h"
#include "schedule/shutdown.h"
#include "schedule/takeover.h"
#include "schedule/upkeep.h"

#include <stdbool.h>

/* Everything is borrowed and lives as long as the scheduler. */
struct scheduler_spec {
    const struct config *config; /* [schedule] at the start; what was read again is the reload's */
    const struct store_config *store;
    struct log *log;
    char *const *environment;
    const struct signals_given *signals;
    const char *config_path; /* as job_table_read wants them, to read the table again */
    char *const *paths;
    size_t path_count;
};

struct scheduler {
    struct scheduler_spec spec;
    uv_loop_t *loop;
    struct schedule_config settings; /* as last read */
    struct roster *roster;
    struct store *claims, *renewals; /* two, so that no renewal waits behind claims */
    struct due due;                  /* of the roster's entries, by place */
    struct alarm wake;
    struct clock_watch clock;
    int64_t ahead_us; /* this clock is known to be so far ahead of the store's; 0: not known */
    struct list turns;
    struct places places;
    struct hooks hooks; /* they take no place */
    struct alarm places_pause;
    struct outage outage;
    struct recall recall;
    struct takeover takeover;
    struct reload reload;
    struct shutdown shutdown;
    struct upkeep upkeep;
    struct handles handles;
    bool is_abandoned;
    int exit_code; /* once finished */
    void (*finished)(struct scheduler *scheduler);
};

/* Opens the stores and begins; the table is taken over, on failure too. Calls finished once, from
 * the loop, after a shutdown: everything is closed then. Fails, with nothing left behind, on a
 * store that cannot be opened. */
bool scheduler_start(struct scheduler *scheduler, uv_loop_t *loop,
                     const struct scheduler_spec *spec, struct job_table *table,
                     void (*finished)(struct scheduler *scheduler), struct error *err);

/* INT and TERM shut down, HUP reads the table again, CHLD reaps strangers. */
void scheduler_signal(struct scheduler *scheduler, int number);

/* ---- for the parts of a scheduler ---- */

void scheduler_on_wake(struct alarm *alarm);
/* Steps of the clock are seen from here on, where the system can tell them. */
void scheduler_watch_clock(struct scheduler *scheduler);

/* The wall clock, less what it is known to be ahead. */
int64_t scheduler_now_us(const struct scheduler *scheduler);

/* A turn has ended or was called off: the job's next may begin. */
void scheduler_turn_over(struct scheduler *scheduler, struct entry *entry);

/* A claim was answered as if this clock were ahead_us ahead of the store's (0: it is not, or no
 * more): slots are awaited by the store's clock from here on. */
void scheduler_note_ahead(struct scheduler *scheduler, int64_t ahead_us);

/* The clock, the table or what is known of slots has changed: everything is looked at anew. */
void scheduler_look_again(struct scheduler *scheduler);

/* All turns have ended and no more will begin: closes what is open. */
void scheduler_close(struct scheduler *scheduler);

/* There is no more time: leaves the rest to guards and to the leases' end, and calls finished with
 * is_abandoned set; nothing may be freed then. */
void scheduler_abandon(struct scheduler *scheduler);

/* The next slot of all; NO_INSTANT: none. */
int64_t scheduler_next_us(const struct scheduler *scheduler, const struct job **ret_job);
