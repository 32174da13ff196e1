/* SPDX-License-Identifier: ISC */
/* A job's turn: one slot, from the moment it is due to its end here. It waits for a place, plans
 * the command, claims, runs; when it was won and could not be started, or the key is held and may
 * become free, it comes again while the slot's window is open. */
#pragma once
#include "base/list.h"
#include "command/command_plan.h"
#include "loop/alarm.h"
#include "run/run.h"
#include "schedule/places.h"
#include "schedule/roster.h"

#include <stdbool.h>
#include <stdint.h>

struct scheduler;

enum turn_state {
    TURN_WAITING,  /* for a place */
    TURN_PLANNING, /* the command's environment is asked for */
    TURN_RUNNING,  /* its run exists: from the claim to the release */
    TURN_RESTING,  /* comes again */
    TURN_OVER,
};

struct turn {
    struct list node; /* of scheduler->turns */
    struct scheduler *scheduler;
    struct roster *roster; /* holds the job */
    struct entry *entry;   /* NULL once the table has the job no more */
    const struct job *job;
    char *key;
    int64_t slot_us;            /* NO_INSTANT: none */
    int64_t end_us;             /* its window's, by the wall clock; INT64_MAX: none */
    char past[FINGERPRINT_MAX]; /* as claimed with (schedule/past.h) */
    struct place place;
    enum turn_state state;
    struct alarm again;
    struct command_plan plan;
    bool has_plan;
    struct run run;
    enum claim_result result; /* of the run's claim */
    bool has_claimed;         /* result is known */
    int claim_count;
    bool is_last; /* its window is over: it asks for the slot's story, and not again */
    bool has_looked_again;
    bool has_told_failure; /* of its slot, perhaps in a turn before */
    bool has_told_held, has_told_done, has_told_why_not;
    bool is_called_off;                 /* nothing new is begun for it */
    struct interrupted_run interrupted; /* is taken over; run_id "": the slot is a new one */
    struct handles handles;
};

/* Its end is told by scheduler_turn_over. */
void turn_begin(struct scheduler *scheduler, struct entry *entry, struct owed_slot owed);

/* The turn of a run that was interrupted: one claim, whatever the slot's window. */
void turn_begin_takeover(struct scheduler *scheduler, struct entry *entry,
                         const struct interrupted_run *interrupted);
bool turn_takes_over(const struct turn *turn);

/* Called off before the command has started; a claim won meanwhile is undone. A command goes on. */
void turn_call_off(struct turn *turn);

bool turn_has_command(const struct turn *turn);
