/* SPDX-License-Identifier: ISC */
/* Runs, their outcomes, steps and effects, when nothing at all can be said about time: a node,
 * leaserun and guard together, may be frozen between any two steps, so a lease may expire at any
 * moment under a command that goes on. What holds here holds by fences alone.
 *
 * Each node claims the key once. The winner closes unfinished runs of the key as abandoned, in the
 * statement of the claim, or takes one over that is unfinished or was stopped, under its own fence:
 * it is unfinished then. While it believes that it holds
 * the key it writes effects to a resource that checks fences, and steps to the journal; it ends
 * with its outcome, is stopped, or dies. All of these are messages that arrive at any later time; the outcome
 * arrives up to twice.
 *
 * Left out: time (the other models); the order of steps within a run.
 *
 * bounds: -DNODES=3 -DEFFECTS=1 -DSTOPS
 * bounds long: -DNODES=3 -DEFFECTS=3
 * bounds long: -DNODES=4 -DEFFECTS=0
 *
 * reach: phase[0] == RUNNING && phase[1] == RUNNING && fence[0] > 0 && fence[1] > 0 -- two commands run at once, which only fences keep apart
 * reach: my_run[1] == 0 && outcome[0] == SUCCEEDED && phase[1] == OVER -- a run is taken over and succeeds
 * reach: my_run[1] == 0 && phase[1] == RUNNING && is_stopped[0] && has_outcome[0] > 0 -- a stopped run is at work again while its outcome comes once more
 * reach: outcome[0] == ABANDONED && has_outcome[0] == 2 -- a run is closed as abandoned while its outcome is under way
 *
 * mutant EFFECT_UNCHECKED breaks P5_effects_in_order: the resource does not look at the fence
 * mutant EFFECT_STRICT -DEFFECTS=2 breaks P5_holder_is_accepted: the resource refuses a second effect of one mandate
 * mutant STEP_UNCHECKED breaks P5_steps_of_holder: a step is recorded without asking for the lease
 * mutant STEP_LOOKS_FIRST breaks P5_steps_of_holder: a step asks for the lease, and is recorded later, without its lock
 * mutant OUTCOME_UNCHECKED breaks P4_one_outcome: an outcome is written over another
 * mutant OUTCOME_WITHOUT_FENCE breaks P4_outcome_of_owner: an outcome names only the run
 * mutant TAKEN_AS_LOOKED breaks P4_end_stands: a run is taken over as a look found it, without asking once more
 * mutant CLOSED_LATER breaks P4_every_run_ends: the winner closes the last run in a statement of its own
 * mutant OUTCOME_WITH_LEASE breaks P4_outcome_is_kept: an outcome is written only while the lease is still there */

#include "lease.pml"

hidden byte P4_one_outcome;        /* a run gets one outcome, which nothing changes */
hidden byte P4_outcome_of_owner;   /* an outcome comes from the mandate that the run is in */
hidden byte P4_outcome_is_kept;    /* a run that was not taken over or closed gets its outcome, however late */
hidden byte P4_end_stands;         /* a run that has ended, other than by being stopped, is not taken over */
hidden byte P4_every_run_ends;     /* every run has an outcome, but one that died under the last mandate */
hidden byte P5_effects_in_order;   /* no effect of a mandate is accepted after one of a later mandate */
hidden byte P5_holder_is_accepted; /* no effect of the latest mandate is refused */
hidden byte P5_steps_of_holder;    /* no step of a mandate is recorded once there is a later one */
hidden byte P0_comes_to_rest;      /* no deadlock: all nodes have ended and no message is left */

mtype:phases = { IDLE, RUNNING, OVER };
mtype:outcomes = { NONE, SUCCEEDED, STOPPED, ABANDONED };

#define NO_RUN 9

mtype:phases phase[NODES] = IDLE;
byte fence[NODES], my_run[NODES] = NO_RUN;
byte mandate[NODES], mandates; /* in the order in which they were granted, whatever fences say */
byte written[NODES];           /* effects so far */
bool has_effect[NODES], has_step[NODES], is_step_checked[NODES];
byte has_outcome[NODES];       /* copies of its release that are on their way */
bool is_stopped[NODES];        /* what they say: STOPPED, or SUCCEEDED */
byte looked = NO_RUN;          /* TAKEN_AS_LOOKED: the run that a look has found ... */
byte looker;

bool is_run[NODES];            /* the row in runs; a node's own run has its number */
mtype:outcomes outcome[NODES] = NONE;
byte run_fence[NODES];
byte answered = NO_RUN;        /* CLOSED_LATER: to be closed by ... */
byte closer;

byte resource_fence, resource_mandate; /* the highest that the resource has accepted */
hidden byte k;

#define IS_UNFINISHED(r) (is_run[r] && outcome[r] == NONE)
#define IS_INTERRUPTED(r) (IS_UNFINISHED(r) || outcome[r] == STOPPED)

inline set_outcome(r, what)
{
    PROMISE(P4_one_outcome, outcome[r] == NONE);
    outcome[r] = what
}

inline close_all()
{
    for (k : 0 .. NODES - 1) {
        if
        :: IS_UNFINISHED(k) -> set_outcome(k, ABANDONED)
        :: else
        fi
    }
    k = 0
}

inline start_run(me, its_run)
{
    my_run[me] = its_run;
    is_run[its_run] = true;
    run_fence[its_run] = row_fence
}

inline claim(i)
{
    store_claim(i + 1, 1, 0);
    won = false;
    mandates++;
    mandate[i] = mandates;
    fence[i] = row_fence;
    phase[i] = RUNNING
}

inline take_over(i, r)
{
    claim(i);
    PROMISE(P4_end_stands, IS_INTERRUPTED(r));
    outcome[r] = NONE;
    start_run(i, r);
    for (k : 0 .. NODES - 1) {
        if
        :: IS_UNFINISHED(k) && k != r -> set_outcome(k, ABANDONED)
        :: else
        fi
    }
    k = 0
}

/* The run that a winner is answered: the one of the mandate before its own. */
inline answer_last(i)
{
    for (k : 0 .. NODES - 1) {
        if
        :: IS_UNFINISHED(k) && run_fence[k] + 1 == row_fence -> answered = k; closer = i
        :: else
        fi
    }
    k = 0
}

proctype node(byte i)
{
    byte r;
end:
    do
    :: d_step { phase[i] == IDLE && MAY_WIN(i + 1, 1) ->
        claim(i);
#if defined(CLOSED_LATER)
        answer_last(i);
#else
        close_all();
#endif
        start_run(i, i) }
#if defined(TAKEN_AS_LOOKED)
    :: atomic { phase[i] == IDLE && MAY_WIN(i + 1, 1) && looked == NO_RUN ->
        select(r : 0 .. NODES - 1);
        if
        :: IS_INTERRUPTED(r) -> looked = r; looker = i
        :: else
        fi;
        r = 0 }
    :: d_step { phase[i] == IDLE && MAY_WIN(i + 1, 1) && looked != NO_RUN && looker == i ->
        take_over(i, looked) }
#else
    :: atomic { phase[i] == IDLE && MAY_WIN(i + 1, 1) -> /* takes over */
        select(r : 0 .. NODES - 1);
        if
        :: IS_INTERRUPTED(r) -> d_step { take_over(i, r) }
        :: else
        fi;
        r = 0 }
#endif
#if defined(CLOSED_LATER)
    :: d_step { phase[i] == RUNNING && answered != NO_RUN && closer == i ->
        if
        :: IS_UNFINISHED(answered) -> set_outcome(answered, ABANDONED)
        :: else
        fi;
        answered = NO_RUN }
#endif
    :: d_step { phase[i] == RUNNING && written[i] < EFFECTS && !has_effect[i] -> has_effect[i] = true; written[i]++ }
    :: d_step { phase[i] == RUNNING && !has_step[i] -> has_step[i] = true }
    :: d_step { phase[i] == RUNNING -> has_outcome[i] = 2; phase[i] = OVER }
#if defined(STOPS)
    :: d_step { phase[i] == RUNNING -> has_outcome[i] = 2; is_stopped[i] = true; phase[i] = OVER }
#endif
    :: d_step { phase[i] == RUNNING -> phase[i] = OVER } /* dies */
    od
}

#if defined(EFFECT_UNCHECKED)
#define MAY_WRITE(number) true
#elif defined(EFFECT_STRICT)
#define MAY_WRITE(number) (number > resource_fence)
#else
#define MAY_WRITE(number) (number >= resource_fence)
#endif

#if defined(STEP_UNCHECKED) || defined(STEP_LOOKS_FIRST)
#define MAY_RECORD(i) true
#else
#define MAY_RECORD(i) LEASE_OF(i + 1, fence[i])
#endif

#if defined(OUTCOME_UNCHECKED)
#define MAY_END(i) true
#elif defined(OUTCOME_WITHOUT_FENCE)
#define MAY_END(i) (outcome[my_run[i]] == NONE)
#elif defined(OUTCOME_WITH_LEASE)
#define MAY_END(i) (outcome[my_run[i]] == NONE && run_fence[my_run[i]] == fence[i] && LEASE_LIVE)
#else
#define MAY_END(i) (outcome[my_run[i]] == NONE && run_fence[my_run[i]] == fence[i])
#endif

/* What becomes of a node's messages. */
proctype arrivals(byte i)
{
end:
    do
    :: d_step { has_effect[i] ->
        has_effect[i] = false;
        if
        :: MAY_WRITE(fence[i]) ->
            PROMISE(P5_effects_in_order, mandate[i] >= resource_mandate);
            resource_fence = fence[i];
            resource_mandate = mandate[i]
        :: else -> PROMISE(P5_holder_is_accepted, mandate[i] != mandates)
        fi }
#if defined(STEP_LOOKS_FIRST)
    :: d_step { has_step[i] && !is_step_checked[i] ->
        has_step[i] = LEASE_OF(i + 1, fence[i]);
        is_step_checked[i] = has_step[i] }
    :: d_step { has_step[i] && is_step_checked[i] ->
#else
    :: d_step { has_step[i] ->
#endif
        has_step[i] = false;
        is_step_checked[i] = false;
        PROMISE(P5_steps_of_holder, !MAY_RECORD(i) || mandate[i] == mandates) }
    :: d_step { has_outcome[i] > 0 ->
        has_outcome[i]--;
        if
        :: MAY_END(i) ->
            PROMISE(P4_outcome_of_owner, run_fence[my_run[i]] == fence[i]);
            set_outcome(my_run[i], (is_stopped[i] -> STOPPED : SUCCEEDED))
        :: else -> PROMISE(P4_outcome_is_kept, outcome[my_run[i]] != NONE || run_fence[my_run[i]] != fence[i])
        fi;
        store_release(i + 1, fence[i]);
        wrote = false }
    od
}

/* At any moment, for nobody can say how long a node is frozen. */
active proctype expiry()
{
end:
    do
    :: d_step { LEASE_LIVE -> row_left = 0 }
    od
}

active proctype rest()
{
    timeout;
    for (k : 0 .. NODES - 1) {
        PROMISE(P0_comes_to_rest, phase[k] == OVER && !has_effect[k] && !has_step[k] && has_outcome[k] == 0);
        PROMISE(P4_every_run_ends, !IS_UNFINISHED(k) || run_fence[k] == row_fence)
    }
}

init
{
    atomic {
        for (k : 0 .. NODES - 1) {
            run node(k);
            run arrivals(k)
        }
        k = 0
    }
}
