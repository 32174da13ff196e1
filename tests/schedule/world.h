/* SPDX-License-Identifier: ISC */
/* A world of discrete events in which schedulers live: time, chance, replicas with clocks of their
 * own, and one store. It stands in for loop/alarm, loop/handles, loop/clock_watch, base/now,
 * base/random, log/log, store/store, command/command and libuv's pool; everything between is the
 * real thing.
 *
 * True time is in milliseconds. A replica's boot clock is true time, its wall clock is off by its
 * skew. A replica that is paused does nothing until it is resumed, one that has crashed nothing
 * more at all; what its guards do happens in true time. */
#pragma once
#include "check.h"
#include "schedule/scheduler.h"

#include <stdbool.h>
#include <stdint.h>

#define WORLD_EPOCH_US (INT64_C(1772323200) * 1000000) /* 2026-03-01T00:00:00Z is true time 0 */
#define MINUTE_MS      INT64_C(60000)
#define HOUR_MS        (60 * MINUTE_MS)
#define DAY_MS         (24 * HOUR_MS)
#define NEVER          INT64_MAX

/* ---- time (world.c) ---- */

struct replica;

struct world {
    int64_t now_ms;
    struct replica *current; /* whose turn it is; NULL: the world's own */
    uint64_t chance;
};
extern struct world world;

int64_t world_chance(int64_t least, int64_t most); /* inclusive */
bool world_happens(int per_mille);

/* fn(argument) at that time. With a replica: when it is not paused, and never after its crash. */
void world_at(int64_t at_ms, struct replica *replica, void (*fn)(void *argument), void *argument);

/* Until that time, or until nothing is left to happen. */
void world_run(int64_t until_ms);
void world_reset(uint64_t seed);

size_t world_number_of(const char *run_id); /* run ids of the world end in numbers */

/* ---- replicas (replicas.c) ---- */

#define RIGHT_US (30 * INT64_C(1000000)) /* a clock that is off by no more is right */

struct replica {
    struct replica *next;
    int host;
    int64_t skew_us;    /* of its wall clock */
    int64_t paused_ms;  /* until then; 0: it runs */
    int64_t up_from_ms; /* since then it is up and has not been disturbed; NEVER: it is not */
    int64_t died_ms;    /* when it crashed, or left without waiting any longer; NEVER: not */
    bool is_crashed, is_stopped;
    int64_t clock_set_ms;
    bool knows_time; /* its clock is right, or it has had the time to learn that it is not */
    struct clock_watch *clock_watch;
    struct config config;
    struct scheduler *scheduler;
    struct alarm *alarms[512]; /* that are set */
    int alarm_count;
    struct job_table table;
};

/* Tables of the world: all have the jobs of replicas.c. */
enum table_difference {
    TABLE_EDITED = 1,  /* the schedule of the job "edited" is another */
    TABLE_WITHOUT = 2, /* the job "sometimes" is not there */
    TABLE_COUNT = 4
};
extern int replicas_table; /* the one that stands in the files now */

/* A host had this table from then on, until its next. */
struct reading {
    int host, table;
    int64_t at_ms;
};
extern struct reading replicas_readings[16384];
extern size_t replicas_reading_count;

void replicas_reset(void);
void replicas_done(void);   /* removes what the tables stood in */
#define LIMITED_HOST 2      /* has max-running = 3 */
extern bool replicas_rerun; /* their tables have one job alone, whose runs begin again */
#define RERUN_MOST 3        /* so often at most */
struct replica *replicas_start(int host, int64_t skew_us);
void replicas_reload(struct replica *replica); /* by SIGHUP */
void replicas_stop(struct replica *replica);   /* by SIGTERM; it ends some time later */
void replicas_crash(struct replica *replica);
void replicas_pause(struct replica *replica, int64_t ms);
void replicas_set_clock(struct replica *replica, int64_t skew_us);

/* ---- the store (model_store.c) ---- */

/* What became of a slot, by the store. */
struct model_run {
    const char *key, *job;
    int64_t slot_us;
    char run_id[IDENTITY_RUN_ID_MAX], holder[IDENTITY_HOLDER_MAX];
    int64_t fence;
    enum run_outcome outcome;
    bool is_undone;    /* the row is gone, */
    int64_t undone_ms; /* since then */
    int start_count;   /* of its command, attempts apart */
    struct replica *writer;
    int64_t writer_skew_us; /* its clock's, then */
    int64_t written_ms, ended_ms;
    bool is_outcome_heard;  /* missed, skipped: whoever wrote it got the answer */
    struct replica *closer; /* abandoned: who closed it */
    int64_t closed_ms;
    char closed_by[IDENTITY_RUN_ID_MAX];
    bool is_closing_heard;
    bool is_once;
    int starts;        /* of an is_rerun claim: its mandates that were not undone; 0: of another */
    int mandate_count; /* under which its command was started */
    int64_t started_fence;                 /* the last of them */
    int taken_over_count;                  /* take-overs whose answer was heard */
    char kept_out[IDENTITY_HOLDER_MAX];    /* whose take-over comes late; "": nobody's */
    char given_up_by[IDENTITY_HOLDER_MAX]; /* "": it is not */
    bool is_giving_up_heard;
    size_t before; /* the key's run before this one, + 1; 0: none */
};
extern struct model_run *model_runs;
extern size_t model_run_count;

void model_store_reset(void); /* and its network */
void model_store_set_clock(int64_t skew_us);
int64_t model_store_skew_us(void);
bool model_store_has_live_lease(void);
void model_store_note_heard(const struct claim_item *answer); /* it has reached who asked */
void model_store_note_start(const char *run_id, int64_t fence, bool is_first);
void model_store_free_lease(const char *key, const char *holder); /* as a guard does */

void model_store_claim(struct claim_item *item, int64_t not_after_ms, struct replica *replica);
void model_store_renew(struct renew_item *item);
void model_store_give_back(struct release_item *item, bool is_undo);
void model_store_recall(struct recall_item *item);

/* ---- the leases in it, for its own parts (model_store.c, model_takeover.c) ---- */

struct lease_of_key {
    char key[32], holder[IDENTITY_HOLDER_MAX], run_id[IDENTITY_RUN_ID_MAX];
    char abandoned[IDENTITY_RUN_ID_MAX]; /* by the present run, and told again to it; "": none */
    int64_t fence, expires_us, slot_us, written_us;
    int attempt;
    bool is_released;
    char fingerprint[FINGERPRINT_MAX];
};
bool model_store_is_live(const struct lease_of_key *lease); /* NULL: no */

/* Of the runs of a key, newest first, so many. */
struct model_run *model_store_newest(const char *key, struct model_run *after);

enum claim_verdict model_takeover_judge(struct claim_item *item, struct model_run *run,
                                        const struct lease_of_key *lease);
void model_takeover_win(struct claim_item *item, struct model_run *run, bool is_again,
                        struct replica *replica);
void model_takeover_recall(struct recall_item *item, const struct lease_of_key *lease);

/* False: the claim that is undone was none that took a run over. */
bool model_takeover_undo(const struct release_item *item, struct model_run *run);

/* ---- the network before it (model_network.c) ---- */

void model_network_reset(void);
void model_network_outage(int64_t from_ms, int64_t for_ms);
bool model_network_was_up(int64_t from_ms, int64_t to_ms);
int model_network_lost_count(void);                /* of replies */
void model_network_crash(struct replica *replica); /* its requests get no answer */

/* ---- commands (model_command.c) ---- */

struct model_start { /* a command was started */
    char key[32], run_id[IDENTITY_RUN_ID_MAX];
    int64_t at_ms, end_ms;
    struct replica *replica;
};
extern struct model_start *model_starts;
extern size_t model_start_count;

void model_command_reset(void);
void model_command_crash(struct replica *replica); /* guards end its trees and free the leases */

/* ---- what was told (model_log.c) ---- */

struct model_line {
    enum event event;
    enum level level;
    char job[32], run_id[IDENTITY_RUN_ID_MAX];
    const char *outcome; /* NULL: none */
    int64_t slot_us, at_ms;
    struct replica *replica;
};
extern struct model_line *model_lines;
extern size_t model_line_count;
int model_log_count(const struct replica *replica, enum event event, int64_t since_ms);
void model_log_reset(void);
