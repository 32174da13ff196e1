/* SPDX-License-Identifier: ISC */
/* One job table as a scheduler keeps it: for each job its schedule and what is known of its slots.
 * A reload makes a second one; the first stays for as long as a turn of its jobs lasts. */
#pragma once
#include "conf/job_table.h"
#include "schedule/slots.h"
#include "schedule/streak.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A slot that is to have a turn. */
struct owed_slot {
    int64_t slot_us; /* NO_INSTANT: the turn is one without slot */
    bool is_told;    /* that its claim failed, in a turn before */
};

/* What is remembered of one job. */
struct entry {
    const struct job *job;
    struct slots slots;
    uint64_t fingerprint; /* of the schedule; where jobs share a key, of all of theirs */
    int64_t base_us;      /* of the slots, those up to it have had their turn, or are not ours */
    int64_t from_us;  /* those since then are ours: the start's, or the reload's that brought it */
    int64_t since_us; /* there are no older slots of this fingerprint; NO_INSTANT: not known */
    int64_t tried_us; /* the latest that had a turn; NO_INSTANT: none */
    int64_t known_us; /* the latest whose time had come by the store's clock; NO_INSTANT: none */
    struct owed_slot *late; /* those before base_us, oldest first */
    int late_count;         /* up to SLOTS_BACKLOG_MOST */
    int64_t again_us;       /* @once: the next turn; @reboot: the first */
    int turn_count;         /* turns that are under way, */
    int64_t oldest_turn_us; /* and the oldest slot of those since there was none */
    int failure_count;      /* @once: in a row */
    struct streak streak;
    bool is_recalled;  /* what the store knew of its slots at the start is known, or not needed */
    bool is_silent;    /* the store did not answer for its last slot: late ones wait */
    bool is_cut;       /* slots before the late ones are not told one by one: to be told */
    bool is_turn_owed; /* due, and to begin when the present turn has ended */
    bool has_settled;  /* @once, @reboot: nothing more to do */
    bool has_won;      /* and so written our fingerprint to the key's row */
    bool has_told_difference;
    bool shares_key;            /* with other jobs of the table: */
    struct entry *next_sharing; /* the next of them, in a ring */
};

struct roster {
    struct job_table table;
    struct entry *entries; /* of the enabled jobs with a schedule, in the table's order */
    size_t count;
    int use_count;
};

/* Takes the table over, on failure too. Every entry's base is now_us. Fails (ERROR_CONFIG) when a
 * schedule or zone that was checked with the table can no longer be read. */
bool roster_make(struct job_table *table, int64_t now_us, struct roster **ret_roster,
                 struct error *err);

struct roster *roster_use(struct roster *roster);
void roster_release(struct roster *roster); /* the last one frees it; takes NULL */

struct entry *roster_find(const struct roster *roster, const char *name); /* NULL: none */

/* A calendar or interval schedule, which has slots. */
bool entry_has_slots(const struct entry *entry);
bool entry_repeats_within_minute(const struct entry *entry);

/* No slot after base_us was tried, or waits: what seemed to be past has yet to come. */
void entry_go_back(struct entry *entry, int64_t base_us);

/* The oldest goes when there are too many; of two for one slot the first stays. */
void entry_add_late(struct entry *entry, struct owed_slot late);
struct owed_slot entry_take_late(struct entry *entry); /* the oldest */
