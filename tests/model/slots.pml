/* SPDX-License-Identifier: ISC */
/* One slot of one key. Every node's clock stands elsewhere, up to SKEW ticks before or behind the
 * store's, and wakes it when the slot is due by that clock; from then on it asks the store once in
 * every tick until an answer is final. Up to OUTAGE ticks long the store does not answer, LOSSES
 * answers get lost after the store has acted, nodes may die or shut down at any time (a win that
 * is not started is undone, unless that message too gets lost), and at the start the key may be
 * held by an earlier run for some time. Commands may end at once or last as long as they like.
 *
 * Each claim is one step: its races, late messages and duplicates are in claim.pml. Leases of the
 * dead expire; leases of the living are renewed (expiry.pml).
 *
 * bounds: -DNODES=2 -DSKEW=1 -DWINDOW=2 -DLOSSES=1 -DOUTAGE=1
 * bounds long: -DNODES=3 -DSKEW=1 -DWINDOW=2 -DLOSSES=1 -DOUTAGE=1
 * bounds long: -DNODES=2 -DSKEW=2 -DWINDOW=4 -DLOSSES=2 -DOUTAGE=3 -DTTL=4
 *
 * reach: phase[0] == STARTED && was_undone -- a slot was undone by one node and started by another
 * reach: slot == MISSED && downtime == OUTAGE -- an outage outlasts the window and the slot is told as missed
 * reach: phase[0] == STARTED && nth[0] == 2 && slot == 1 -- an answer was lost and the node still starts its slot
 * reach: now == END && slot == NO_SLOT && phase[1] == DONE && was_undone -- (a limit) a win is undone after the others were told done: only misfire brings the slot back
 * reach: slot == 1 && phase[0] == DEAD && starts == 0 && phase[1] == DONE -- the winner dies before it starts
 *
 * mutant CLIENT_CLOCK breaks P3_within_window: the slot is judged by the client's clock
 * mutant SLOT_FORGOTTEN breaks P3_starts_once: only the lease is asked, not the slot
 * mutant UNDO_KEEPS_SLOT breaks P3_starts_if_it_can: an undone slot stays taken
 * mutant OWN_SLOT_IS_DONE breaks P3_starts_if_it_can: a node whose answer was lost is told that its own slot is done
 * mutant MISSED_BY_EACH breaks P4_missed_told_once: every node records the missed slot
 * mutant MISSED_ANSWER_LOST breaks P4_missed_told_once: who recorded a missed slot is not told so when asking again
 * mutant HELD_IS_FINAL breaks P4_slot_has_outcome: a node gives its slot up when it finds the key held */

#include "lease.pml"

hidden byte P3_starts_once;      /* a slot is started at most once */
hidden byte P3_within_window;    /* a slot is started, or told as missed, by the store's clock */
hidden byte P3_starts_if_it_can; /* a slot is taken if a node that stays up found key and window open */
hidden byte P4_slot_has_outcome; /* a slot has one outcome if a node stays up and no win was undone */
hidden byte P4_missed_told_once; /* a missed slot is recorded and told once */
hidden byte P0_comes_to_rest;    /* no deadlock: every node has a final answer, or is down */

#define DUE      (SKEW + 1) /* the slot, by the store's clock */
#define CLOSED   (DUE + WINDOW)
#define END      (CLOSED + SKEW + OUTAGE + TTL + 2)
#define EARLIER  9 /* holder of the earlier run */
#define NO_SLOT  0
#define MISSED   8

mtype:phases = { WAITING, WINNER, STARTED, DONE, DEAD };

byte now;                /* the store's clock */
byte ahead[NODES];       /* a node's clock is now + ahead - SKEW */
mtype:phases phase[NODES] = WAITING;
bool has_asked[NODES];   /* in this tick */
byte nth[NODES], fence[NODES];
bool could_start[NODES]; /* it asked while window, slot and key were open */
byte slot = NO_SLOT;     /* the row in runs: who took it, or MISSED */
bool is_open_run;        /* the row is unfinished */
byte starts, told, losses, downtime;
bool is_taken; /* whatever the rows say: a win stands */
bool is_down, was_undone, earlier_lives;
byte recorder; /* of MISSED */
byte k;

#define CLOCK(i) (now + ahead[i]) /* SKEW ahead of what it shows */
#if defined(CLIENT_CLOCK)
#define IS_EARLY(i) (CLOCK(i) < DUE + SKEW)
#define IS_LATE(i)  (CLOCK(i) > CLOSED + SKEW)
#else
#define IS_EARLY(i) (now < DUE)
#define IS_LATE(i)  (now > CLOSED)
#endif

#if defined(SLOT_FORGOTTEN)
#define SLOT_IS_OPEN(i) (slot != MISSED)
#elif defined(OWN_SLOT_IS_DONE)
#define SLOT_IS_OPEN(i) (slot == NO_SLOT)
#else
#define SLOT_IS_OPEN(i) (slot == NO_SLOT || (slot == i + 1 && is_open_run))
#endif

#if defined(MISSED_BY_EACH)
#define IS_MISSED_BY(i) (slot == MISSED)
#elif defined(MISSED_ANSWER_LOST)
#define IS_MISSED_BY(i) false
#else
#define IS_MISSED_BY(i) (slot == MISSED && recorder == i + 1) /* asks again: its answer got lost */
#endif
#define IS_UP(i)        (phase[i] != DEAD)
#define IS_AWAKE(i)     (CLOCK(i) >= DUE + SKEW)
#define MUST_ASK(i)     (phase[i] == WAITING && IS_AWAKE(i) && !has_asked[i] && !is_down)
#define IS_BUSY(i)      (phase[i] == WINNER || phase[i] == STARTED)

/* The answer may get lost. */
inline answer(i, what)
{
    if
    :: phase[i] = what
    :: losses < LOSSES -> losses++
    fi
}

inline record_missed(i)
{
    if
    :: slot == NO_SLOT ->
        PROMISE(P3_within_window, now > CLOSED);
        recorder = i + 1
    :: else
    fi;
    slot = MISSED;
    answer(i, DONE);
    if
    :: phase[i] == DONE -> told++; PROMISE(P4_missed_told_once, told == 1)
    :: else
    fi
}

inline take(i)
{
    if
    :: MAY_WIN(i + 1, nth[i]) ->
        store_claim(i + 1, nth[i], 0);
        won = false;
        PROMISE(P3_within_window, slot == i + 1 || (now >= DUE && now <= CLOSED));
        slot = i + 1;
        is_open_run = true;
        is_taken = true;
        fence[i] = row_fence;
        answer(i, WINNER)
    :: else ->
#if defined(HELD_IS_FINAL)
        phase[i] = DONE
#else
        skip /* held: it asks again */
#endif
    fi
}

#define IS_NEW (slot == NO_SLOT) /* a row of one's own comes before the window: its answer got lost */

proctype node(byte i)
{
end:
    do
    :: atomic { MUST_ASK(i) ->
        has_asked[i] = true;
        nth[i]++;
        if
        :: !is_taken && slot != MISSED && now >= DUE && now <= CLOSED && MAY_WIN(i + 1, nth[i]) -> could_start[i] = true
        :: else
        fi;
        if
        :: IS_MISSED_BY(i) || (IS_NEW && IS_LATE(i)) -> record_missed(i)
        :: !IS_MISSED_BY(i) && !SLOT_IS_OPEN(i) -> phase[i] = DONE
        :: IS_NEW && IS_EARLY(i)
        :: SLOT_IS_OPEN(i) && !(IS_NEW && (IS_EARLY(i) || IS_LATE(i))) -> take(i)
        fi }
    :: d_step { phase[i] == WINNER ->
        starts++;
        PROMISE(P3_starts_once, starts == 1);
        phase[i] = STARTED }
    :: atomic { phase[i] == WINNER -> /* a shutdown */
        if
        :: !is_down -> /* the undo arrives */
#if !defined(UNDO_KEEPS_SLOT)
            slot = NO_SLOT;
#endif
            is_open_run = false;
            is_taken = false;
            was_undone = true;
            store_release(i + 1, fence[i]);
            wrote = false
        :: true
        fi;
        phase[i] = DEAD }
    :: d_step { phase[i] == STARTED ->
        store_release(i + 1, fence[i]);
        wrote = false;
        is_open_run = false;
        phase[i] = DONE }
    :: d_step { phase[i] != DEAD && phase[i] != DONE -> phase[i] = DEAD }
    od
}

active proctype earlier_run()
{
end:
    do
    :: d_step { earlier_lives -> earlier_lives = false; store_release(EARLIER, 1); wrote = false }
    :: d_step { earlier_lives -> earlier_lives = false } /* dies */
    od
}

#define RENEWS(i) (row_holder == i + 1 && IS_BUSY(i))
#if NODES == 2
#define ANY(is)   (is(0) || is(1))
#else
#define ANY(is)   (is(0) || is(1) || is(2))
#endif
#define IS_WINNER(i) (phase[i] == WINNER)

active proctype clock()
{
end:
    do
    :: atomic { now < END && !ANY(MUST_ASK) && !ANY(IS_WINNER) ->
        d_step {
            now++;
            for (k : 0 .. NODES - 1) {
                has_asked[k] = false
            }
            k = 0;
            row_left = (ANY(RENEWS) || earlier_lives || row_left == 0 -> row_left : row_left - 1);
            is_down = false
        };
        if
        :: downtime < OUTAGE -> downtime++; is_down = true
        :: true
        fi }
    od
}

active proctype rest()
{
    timeout;
    for (k : 0 .. NODES - 1) {
        PROMISE(P0_comes_to_rest, phase[k] == DONE || phase[k] == DEAD);
        PROMISE(P3_starts_if_it_can, !could_start[k] || !IS_UP(k) || (slot == k + 1 && starts == 1));
        PROMISE(P4_slot_has_outcome, !IS_UP(k) || slot != NO_SLOT || was_undone);
        PROMISE(P4_missed_told_once, !IS_UP(k) || slot != MISSED || recorder != k + 1 || told == 1)
    }
    PROMISE(P0_comes_to_rest, now == END && !earlier_lives)
}

init
{
    atomic {
        for (k : 0 .. NODES - 1) {
            if
            :: ahead[k] = 0
            :: ahead[k] = SKEW
            :: ahead[k] = 2 * SKEW
            fi
        }
        k = 0;
        if
        :: earlier_lives = true;
            row_exists = true;
            row_holder = EARLIER;
            row_fence = 1;
            row_left = TTL;
            fence_seq = 1;
            fence_top = 1
        :: true
        fi;
        run node(0);
        run node(1);
#if NODES > 2
        run node(2)
#endif
    }
}
