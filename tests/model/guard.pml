/* SPDX-License-Identifier: ISC */
/* leaserun, its guard and the command's tree on one node, under one run, and another node that
 * wants the key too. leaserun and the guard may be killed or stopped (SIGSTOP, SIGCONT) at any
 * moment, but never both at once: that is what exclusion is promised for. The tree is the command
 * and at most one stray that has left its process group.
 *
 * leaserun tells the guard: HOLD before the claim leaves, START, DEADLINE, STOP, DISMISS; its death is the
 * end of file. The socket pair keeps order and loses nothing, so the queue is what its newest
 * packets say; a stopped guard finds them when it goes on. When the guard dies the kernel kills
 * the command (PDEATHSIG) and leaserun inherits the stray; a guard that does not answer is killed
 * by leaserun. Requests to the store may be late, unanswered or lost; a claim has a limit.
 *
 * Time does not pass while leaserun or the guard, if it can run, has an end to make: they react
 * within the margin.
 *
 * Left out: TERM and its grace (a command may end by itself at any time instead), the terminal,
 * doubled messages (claim.pml), the other node's guard (its run simply ends in time).
 *
 * bounds: -DTTL=4 -DFAULTS=3
 * bounds long: -DTTL=7 -DFAULTS=4 -DMARGIN=2
 * bounds long: -DTTL=5 -DFAULTS=8 -DLIMIT=3
 *
 * ltl dead_runner_leaves_nothing: after leaserun's death its tree is gone and its lease free
 * ltl taken_over: when leaserun has ended, the other node gets the key
 *
 * reach: leaserun == STOPPED && is_other_running && fence > 0 && other_fence > fence && fence == 1 -- a stopped leaserun's key is taken over, its guard has ended the tree
 * reach: guard == ENDED && leaserun == CAN_RUN && has_stray && !has_command -- the guard is killed and leaserun has a stray to end
 * reach: LEASE_LIVE && row_holder == US && leaserun == ENDED && guard == ENDED -- a claim arrives when leaserun and guard are gone
 *
 * mutant NO_GUARD breaks P1_exclusion: there is no guard
 * mutant GUARD_WITHOUT_DEADLINE breaks P1_exclusion: the guard waits for leaserun's death only
 * mutant GUARD_WITHOUT_EOF breaks P7_dead_at_once: the guard does not see leaserun's death
 * mutant RELEASED_EARLY breaks P1_exclusion: the lease is released when the command has exited, not when the tree is empty
 * mutant FREED_EARLY breaks P1_exclusion: the guard gives the lease back before the tree is empty
 * mutant STRAYS_LIVE breaks P1_exclusion: only the command's process group is killed
 * mutant START_UNCHECKED breaks P1_exclusion: a guard that was stopped starts the command after its deadline
 * mutant QUEUE_UNREAD breaks P5_healthy_run_lives: a guard that was stopped judges by a deadline that had moved
 * mutant FREE_BY_KEY breaks P5_others_untouched: the guard gives back by key alone
 * mutant NEVER_EXPIRES breaks taken_over: a lease does not expire
 * mutant BOTH_STOPPED breaks P1_exclusion: leaserun and guard are stopped together, a frozen machine, which is what fences are for */

#include "lease.pml"

hidden byte P1_exclusion;             /* two mandates' trees never live together */
hidden byte P5_others_untouched;      /* what is given back is never another's mandate */
hidden byte P5_healthy_run_lives;     /* no deadline ends a tree whose lease is renewed */
hidden byte P6_dead_before_expiry;    /* the tree is dead before its lease is over or given back */
hidden byte P7_dead_at_once;          /* time does not pass over a tree whose leaserun is dead */
hidden byte P7_nobody_holds_for_long; /* a lease outlives leaserun by a ttl, and by one more if a renewal still arrives */
hidden byte P0_comes_to_rest;         /* no deadlock: all ends with no tree, no lease, no process */

#define US    1
#define OTHER 2

mtype:processes = { CAN_RUN, STOPPED, ENDED };
mtype:phases = { IDLE, ASKING, STARTED, ENDING, EMPTIED, OVER };
mtype:requests = { NO_REQUEST, CLAIM, RENEW, WON, RENEWED, LOST, UNANSWERED };

mtype:processes leaserun = CAN_RUN, guard = CAN_RUN;
mtype:phases phase = IDLE; /* of the run, as leaserun sees it */
mtype:requests request = NO_REQUEST;
byte not_after;
byte fence, deadline;
byte sent_left; /* the deadline that the request under way would give */

bool has_command, has_stray, was_started;
bool told_hold, told_start, told_stop, told_dismiss; /* leaserun to guard */
byte told_deadline;                                  /* the newest in the queue ... */
byte guard_deadline;                                 /* ... and the newest that the guard has read */
bool told_exited, told_empty;                        /* guard to leaserun */

byte other_fence;
bool is_other_running, is_other_done;
byte other_deadline;
byte faults, gone_for;

#define HAS_TREE (has_command || has_stray)

#if defined(STRAYS_LIVE)
#define SEEN_TREE has_command
#define KILLED_STRAY has_stray
#else
#define SEEN_TREE HAS_TREE
#define KILLED_STRAY false
#endif

inline kill_tree()
{
    has_command = false;
    has_stray = KILLED_STRAY
}

inline leaserun_ends()
{
    leaserun = ENDED;
    phase = OVER;
    deadline = 0;
    sent_left = 0
}

inline forget_if_over()
{
    if
    :: leaserun == ENDED && request != CLAIM && request != RENEW -> request = NO_REQUEST
    :: else
    fi
}

/* By (key, holder). It may not reach the store. */
inline give_back()
{
    if
    :: told_hold ->
#if defined(FREE_BY_KEY)
        PROMISE(P5_others_untouched, !HELD_BY_OTHER(US));
        expire_in_place();
#else
        store_free(US);
#endif
        wrote = false
    :: true
    fi
}

inline check_trees()
{
    PROMISE(P1_exclusion, !(HAS_TREE && is_other_running))
}

#define IS_IN_TIME    (deadline > 0) /* asked at the top of every callback */
#define MAY_START     (request == WON && sent_left > 0)
#define RENEWS        (phase == STARTED || phase == ENDING)
#if defined(RELEASED_EARLY)
#define TREE_LOOKS_EMPTY (told_exited || told_empty)
#else
#define TREE_LOOKS_EMPTY told_empty
#endif

inline move_deadline(left)
{
    deadline = left;
    told_deadline = left
}

active proctype runner()
{
end:
    do
    :: d_step { leaserun == CAN_RUN && phase == IDLE && !HELD_BY_OTHER(US) ->
        told_hold = true;
        request = CLAIM;
        not_after = LIMIT;
        sent_left = TTL - MARGIN;
        phase = ASKING }
    :: d_step { leaserun == CAN_RUN && phase == ASKING && MAY_START ->
        move_deadline(sent_left);
        request = NO_REQUEST;
        sent_left = 0;
        told_start = true;
        phase = STARTED }
    :: atomic { leaserun == CAN_RUN && phase == ASKING && !MAY_START -> /* gives up, or it is too late */
        give_back();
        sent_left = 0;
        told_dismiss = true;
        leaserun_ends() }

    :: d_step { leaserun == CAN_RUN && RENEWS && IS_IN_TIME && request == NO_REQUEST ->
        request = RENEW;
        sent_left = TTL - MARGIN }
    :: d_step { leaserun == CAN_RUN && RENEWS && IS_IN_TIME && request == RENEWED ->
        move_deadline(sent_left);
        sent_left = 0;
        request = NO_REQUEST }
    :: d_step { leaserun == CAN_RUN && RENEWS && IS_IN_TIME && request == UNANSWERED ->
        sent_left = 0;
        request = NO_REQUEST }
    :: d_step { leaserun == CAN_RUN && RENEWS && (request == LOST || !IS_IN_TIME) && phase == STARTED ->
        told_stop = true;
        phase = ENDING }
    :: d_step { leaserun == CAN_RUN && phase == STARTED -> told_stop = true; phase = ENDING } /* a timeout, TERM */
    :: d_step { leaserun == CAN_RUN && RENEWS && guard != CAN_RUN && (deadline == 0 || guard == ENDED) ->
        guard = ENDED; /* it does not answer: killed, so that the stray comes to leaserun */
        kill_tree();
        told_empty = true;
        phase = ENDING }

    :: d_step { leaserun == CAN_RUN && RENEWS && TREE_LOOKS_EMPTY ->
        phase = EMPTIED;
        move_deadline(0);
        sent_left = 0;
        request = (request == RENEW -> RENEW : NO_REQUEST) }
    :: atomic { leaserun == CAN_RUN && phase == EMPTIED ->
        if
        :: true ->
            store_release(US, fence);
            PROMISE(P6_dead_before_expiry, !HAS_TREE || !wrote);
            wrote = false
        :: true /* it gets lost */
        fi;
        told_dismiss = true;
        leaserun_ends() }
    od
}

#if defined(NO_GUARD)
/* leaserun starts and ends the command itself. */
#define GUARD_RUNS (guard == CAN_RUN && leaserun == CAN_RUN)
#else
#define GUARD_RUNS (guard == CAN_RUN)
#endif
#if defined(GUARD_WITHOUT_DEADLINE) || defined(NO_GUARD)
#define GUARD_IS_LATE false
#elif defined(QUEUE_UNREAD)
#define GUARD_IS_LATE (was_started && guard_deadline == 0)
#else
#define GUARD_IS_LATE (was_started && guard_deadline == 0 && told_deadline == 0)
#endif
#if defined(GUARD_WITHOUT_EOF) || defined(NO_GUARD)
#define SEES_DEATH false
#else
#define SEES_DEATH (leaserun == ENDED && !told_dismiss)
#endif
#if defined(START_UNCHECKED)
#define STILL_IN_TIME true
#else
#define STILL_IN_TIME (told_deadline > 0)
#endif

active proctype guardian()
{
end:
    do
    :: d_step { GUARD_RUNS && told_start && !was_started && !told_stop ->
        told_start = false;
        guard_deadline = told_deadline;
        was_started = true;
        has_command = STILL_IN_TIME;
        told_empty = !has_command;
        check_trees() }
    :: d_step { GUARD_RUNS && told_start && !was_started && told_stop ->
        told_start = false;
        was_started = true;
        told_empty = true }
    :: d_step { GUARD_RUNS && was_started && guard_deadline < told_deadline -> guard_deadline = told_deadline }
    :: d_step { GUARD_RUNS && SEEN_TREE && (told_stop || GUARD_IS_LATE || SEES_DEATH) ->
        PROMISE(P5_healthy_run_lives, told_stop || SEES_DEATH || deadline == 0);
        kill_tree() }
    :: d_step { GUARD_RUNS && was_started && !has_command && has_stray && !told_exited -> told_exited = true }
    :: d_step { GUARD_RUNS && was_started && !has_command && told_exited && SEEN_TREE -> kill_tree() }
    :: d_step { GUARD_RUNS && was_started && !SEEN_TREE && !told_empty -> told_empty = true }
    /* The deadline has passed and leaserun has not moved it: it cannot run. */
    :: d_step { GUARD_RUNS && GUARD_IS_LATE && !SEEN_TREE && leaserun == STOPPED -> leaserun_ends(); forget_if_over() }
#if defined(FREED_EARLY)
    :: atomic { GUARD_RUNS && SEES_DEATH && !told_start -> give_back(); guard = ENDED }
#else
    :: atomic { GUARD_RUNS && SEES_DEATH && !SEEN_TREE && !told_start -> give_back(); guard = ENDED }
#endif
    :: d_step { GUARD_RUNS && leaserun == ENDED && told_dismiss && !SEEN_TREE -> guard = ENDED }
    od
}

/* The command may leave a stray, and both may end by themselves. */
active proctype tree()
{
end:
    do
    :: d_step { has_command && !has_stray -> has_stray = true }
    :: d_step { has_command -> has_command = false }
    :: d_step { has_stray -> has_stray = false }
    od
}

active proctype store()
{
end:
    do
    :: atomic { request == CLAIM ->
        if
        :: not_after > 0 -> store_claim(US, 1, 0)
        :: else
        fi;
        if
        :: won -> won = false; fence = row_fence; request = WON
        :: won -> won = false; fence = row_fence; request = UNANSWERED
        :: !won -> request = UNANSWERED
        fi;
        not_after = 0;
        forget_if_over() }
    :: atomic { request == RENEW ->
        store_renew(US, fence, TTL);
        if
        :: renewed -> request = RENEWED
        :: !renewed -> request = LOST
        :: request = UNANSWERED
        fi;
        renewed = false;
        forget_if_over() }
    :: d_step { request == RENEW -> request = UNANSWERED; forget_if_over() }
    od
}

active proctype other()
{
end:
    do
    :: d_step { !is_other_done && MAY_WIN(OTHER, 1) ->
        store_claim(OTHER, 1, 0);
        won = false;
        other_fence = row_fence;
        is_other_done = true;
        is_other_running = true;
        other_deadline = TTL - MARGIN;
        check_trees() }
    :: atomic { is_other_running ->
        is_other_running = false;
        other_deadline = 0;
        if
        :: store_release(OTHER, other_fence); wrote = false
        :: true
        fi }
    od
}

#if defined(BOTH_STOPPED)
#define MAY_FAIL(one, another) (faults < FAULTS && one != ENDED)
#else
#define MAY_FAIL(one, another) (faults < FAULTS && one != ENDED && another == CAN_RUN)
#endif

active proctype fate()
{
end:
    do
    :: d_step { MAY_FAIL(leaserun, guard) && leaserun == CAN_RUN -> faults++; leaserun = STOPPED }
    :: d_step { MAY_FAIL(guard, leaserun) && guard == CAN_RUN -> faults++; guard = STOPPED }
    :: d_step { MAY_FAIL(leaserun, guard) -> faults++; leaserun_ends(); forget_if_over() }
    :: d_step { MAY_FAIL(guard, leaserun) -> faults++; guard = ENDED; has_command = false }
    :: d_step { leaserun == STOPPED -> leaserun = CAN_RUN }
    :: d_step { guard == STOPPED -> guard = CAN_RUN }
    od
}

#define GUARD_IS_DUE    (GUARD_RUNS && SEEN_TREE && (told_stop || GUARD_IS_LATE || SEES_DEATH))
#define LEASERUN_IS_DUE (leaserun == CAN_RUN && RENEWS && HAS_TREE && deadline == 0 && !GUARD_RUNS)
#define OTHER_IS_DUE    (is_other_running && other_deadline == 0)
#define IS_MOVING       (row_left > 0 || deadline > 0 || sent_left > 0 || not_after > 0 || is_other_running || HAS_TREE)

active proctype clock()
{
end:
    do
    :: d_step { !GUARD_IS_DUE && !LEASERUN_IS_DUE && !OTHER_IS_DUE && IS_MOVING ->
#if !defined(NEVER_EXPIRES)
        COUNT_DOWN(row_left);
#endif
        COUNT_DOWN(deadline);
        COUNT_DOWN(sent_left);
        COUNT_DOWN(not_after);
        COUNT_DOWN(told_deadline);
        COUNT_DOWN(guard_deadline);
        COUNT_DOWN(other_deadline);
        gone_for = (leaserun == ENDED && LEASE_LIVE && row_holder == US -> gone_for + 1 : 0);
        PROMISE(P6_dead_before_expiry, !HAS_TREE || (LEASE_LIVE && LEASE_OF(US, fence)));
        PROMISE(P7_dead_at_once, !HAS_TREE || leaserun != ENDED);
        PROMISE(P7_nobody_holds_for_long, gone_for <= 2 * TTL) }
    od
}

active proctype rest()
{
    timeout;
    PROMISE(P0_comes_to_rest, leaserun == ENDED && guard == ENDED && !HAS_TREE && !LEASE_LIVE && is_other_done)
}

ltl dead_runner_leaves_nothing { [] (leaserun == ENDED -> <> [] (!HAS_TREE && !(LEASE_LIVE && row_holder == US))) }
ltl taken_over { [] (leaserun == ENDED -> <> is_other_done) }
