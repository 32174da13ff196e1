/* SPDX-License-Identifier: ISC */
/* Renewals and the clock. Two nodes want the key once each. A node's requests wait in the network,
 * then perhaps for the row's lock after the statement has read the clock (what it writes is then
 * old), and the answer waits or gets lost. An attempt given up may still arrive, whenever. A
 * renewal answers renewed, lost, or nothing usable (row locked, connection lost, an item of the
 * batch without its verdict). A person may revoke the mandate; the store's clock may step.
 *
 * A node is leaserun and guard in one, which can run: it acts before time goes on (guard.pml takes
 * the two apart). After `revoked` the command gets TERM and lives on for a while.
 *
 * Left out: doubled claims (claim.pml); a second run of a node, which is like another node's.
 *
 * bounds: -DTTL=4
 * bounds: -DTTL=4 -DMARGIN=2 -DSTEP=1
 * bounds long: -DTTL=7
 * bounds long: -DTTL=8 -DMARGIN=3 -DSTEP=2
 *
 * ltl taken_over: a key whose holder is gone is taken over
 *
 * reach: has_tree[1] && row_fence == 2 && (stage[0] == FLYING || stage[1] == FLYING) -- the key changes hands while a renewal of the last holder flies
 * reach: stage[0] == WAITING && written_left[0] == 0 && LEASE_OF(1, fence[0]) && !row_released -- a renewal waits for the lock until what it will write is over
 * reach: row_revoked && has_tree[0] && phase[0] == ENDING -- the command of a revoked mandate is being ended
 *
 * mutant DEADLINE_FROM_REPLY breaks P6_dead_before_expiry: the deadline is counted from the reply
 * mutant RENEW_BY_KEY breaks P5_others_untouched: a renewal names only the key
 * mutant RENEW_RELEASED breaks P5_over_is_over: a late renewal revives a released lease
 * mutant MISSING_IS_LOST breaks P5_lost_needs_verdict: a renewal without an answer counts as lost
 * mutant REVOKED_IS_FREE breaks P1_exclusion: a revoked lease is given away before its holder has ended
 * mutant RELEASE_BY_TIME -DSTEP_BACK=2 breaks P5_over_is_over: released is a time, and the store's clock steps back
 * mutant NO_MARGIN breaks P6_dead_before_expiry: the command may live as long as the lease
 * mutant STALE_AFTER_WAIT breaks P6_dead_before_expiry: a renewal that waited for another write does not read the clock again
 * mutant NEVER_EXPIRES breaks taken_over: a lease does not expire */

#if defined(NO_MARGIN)
#define MARGIN 0
#endif
#include "lease.pml"

hidden byte P1_exclusion;             /* two mandates' commands never run together */
hidden byte P5_others_untouched;      /* a renewal or release changes nothing of another's mandate */
hidden byte P5_over_is_over;          /* a released lease is not revived by its last holder */
hidden byte P5_lost_needs_verdict;    /* a command is ended as lost only when the row says so */
hidden byte P6_dead_before_expiry;    /* a command has ended before its lease is over */
hidden byte P7_nobody_holds_for_long; /* a lease outlives its node by a ttl at most, and one for each renewal that still arrives */
hidden byte P0_comes_to_rest;         /* no deadlock: all ends with the key free */

#define NODES 2
#if !defined(STEP)
#define STEP 0
#endif
#if !defined(STEP_BACK)
#define STEP_BACK 0
#endif

mtype:phases = { IDLE, ASKING, RUNNING, ENDING, RELEASING, OVER };
mtype:stages = { NO_REQUEST, FLYING, WAITING, ANSWERED, UNANSWERED };
mtype:verdicts = { NONE, WON, RENEWED, LOST_TAKEN, LOST_FREE, NO_VERDICT };

mtype:phases phase[NODES] = IDLE;
bool has_tree[NODES], has_won[NODES], is_released[NODES];
byte fence[NODES], deadline[NODES];
byte sent_left[NODES]; /* the deadline that the request under way would give */
byte gone_for[NODES];

/* Two requests of a node may be under way: the one it waits for, and one that it gave up. */
#define REQUESTS (2 * NODES)
#define CURRENT(i)  (2 * (i) + current[i])
#define GIVEN_UP(i) (2 * (i) + 1 - current[i])
byte current[NODES];
mtype:stages stage[REQUESTS] = NO_REQUEST;
mtype:verdicts verdict[REQUESTS] = NONE;
byte written_left[REQUESTS]; /* WAITING: what is left of the expiry that will be written */

bool was_revoked, has_stepped;
hidden byte k;
bool others;

inline end_request(r)
{
    stage[r] = NO_REQUEST;
    verdict[r] = NONE;
    written_left[r] = 0
}

inline leave(i)
{
    has_tree[i] = false;
    deadline[i] = 0;
    sent_left[i] = 0;
    phase[i] = OVER
}

/* Statements that wait for the lock while the row is written begin anew: condition and clock. */
inline written(is_written)
{
#if defined(STALE_AFTER_WAIT)
    skip
#else
    if
    :: is_written ->
        for (k : 0 .. REQUESTS - 1) {
            if
            :: stage[k] == WAITING -> stage[k] = FLYING; written_left[k] = 0
            :: else
            fi
        }
        k = 0
    :: else
    fi
#endif
}

/* The connection is dropped, the statement is not. */
inline give_up(i)
{
    if
    :: stage[CURRENT(i)] == FLYING || stage[CURRENT(i)] == WAITING ->
        end_request(GIVEN_UP(i));
        current[i] = 1 - current[i]
    :: else -> end_request(CURRENT(i))
    fi;
    sent_left[i] = 0
}

#if defined(DEADLINE_FROM_REPLY)
#define NEW_DEADLINE(i) (TTL - MARGIN)
#else
#define NEW_DEADLINE(i) sent_left[i]
#endif
#define HAS(i, what) (stage[CURRENT(i)] == ANSWERED && verdict[CURRENT(i)] == what)
#define IS_ALIVE(i)  (deadline[i] > 0) /* asked at the top of every callback */

inline lose(i)
{
    PROMISE(P5_lost_needs_verdict, !(LEASE_LIVE && LEASE_OF(i + 1, fence[i]) && !row_revoked));
    end_request(CURRENT(i));
    sent_left[i] = 0
}

proctype node(byte i)
{
end:
    do
    /* The claim wins as it is sent (claim.pml has the rest); its answer may be late, or not come. */
    :: d_step { phase[i] == IDLE && MAY_WIN(i + 1, 1) ->
        store_claim(i + 1, 1, 0);
        won = false;
        has_won[i] = true;
        fence[i] = row_fence;
        sent_left[i] = TTL - MARGIN;
        stage[CURRENT(i)] = ANSWERED;
        verdict[CURRENT(i)] = WON;
        phase[i] = ASKING }
    :: d_step { phase[i] == ASKING && sent_left[i] > 0 ->
        PROMISE(P1_exclusion, !has_tree[1 - i]);
        end_request(CURRENT(i));
        has_tree[i] = true;
        deadline[i] = NEW_DEADLINE(i);
        sent_left[i] = 0;
        phase[i] = RUNNING }
    :: d_step { phase[i] == ASKING -> end_request(CURRENT(i)); leave(i) }

    /* Renewals go on until the tree has ended. */
    :: d_step { has_tree[i] && IS_ALIVE(i) && stage[CURRENT(i)] == NO_REQUEST ->
        stage[CURRENT(i)] = FLYING;
        sent_left[i] = TTL - MARGIN }
    :: d_step { has_tree[i] && IS_ALIVE(i) && HAS(i, RENEWED) ->
        deadline[i] = NEW_DEADLINE(i);
        sent_left[i] = 0;
        end_request(CURRENT(i)) }
    :: d_step { has_tree[i] && IS_ALIVE(i) && HAS(i, LOST_TAKEN) -> lose(i); leave(i) }
    :: d_step { has_tree[i] && IS_ALIVE(i) && HAS(i, LOST_FREE) -> lose(i); phase[i] = ENDING }
    :: d_step { has_tree[i] && IS_ALIVE(i) && HAS(i, NO_VERDICT) ->
#if defined(MISSING_IS_LOST)
        lose(i); leave(i) }
#else
        end_request(CURRENT(i)); sent_left[i] = 0 }
#endif
    :: d_step { has_tree[i] && IS_ALIVE(i) && stage[CURRENT(i)] != NO_REQUEST && stage[CURRENT(i)] != ANSWERED ->
        give_up(i) }

    :: d_step { has_tree[i] && deadline[i] == 0 -> give_up(i); leave(i) }
    :: d_step { has_tree[i] && IS_ALIVE(i) -> /* the command ends, or is ended */
        has_tree[i] = false;
        deadline[i] = 0;
        phase[i] = RELEASING }
    :: d_step { phase[i] == RELEASING ->
        give_up(i);
        others = LEASE_LIVE && !LEASE_OF(i + 1, fence[i]);
        store_release(i + 1, fence[i]);
        PROMISE(P5_others_untouched, !(others && wrote));
        is_released[i] = wrote;
        others = false;
        written(wrote);
        wrote = false;
        leave(i) }
    :: d_step { phase[i] == RELEASING -> give_up(i); leave(i) } /* its release gets lost, or it dies */
    :: d_step { has_tree[i] -> give_up(i); leave(i) }           /* dies */
    od
}

inline finish(i, r, what)
{
    if
    :: r != CURRENT(i) -> end_request(r)
    :: r == CURRENT(i) -> stage[r] = ANSWERED; verdict[r] = what; written_left[r] = 0
    :: r == CURRENT(i) -> end_request(r); stage[r] = UNANSWERED
    fi
}

inline renew(i, r, left)
{
    others = LEASE_LIVE && !LEASE_OF(i + 1, fence[i]);
    store_renew(i + 1, fence[i], left);
    PROMISE(P5_others_untouched, !(others && renewed));
    others = false;
    PROMISE(P5_over_is_over, !(renewed && is_released[i]));
    written(renewed)
}

/* A renewal at the store. */
proctype request(byte i; byte r)
{
end:
    do
    :: atomic { stage[r] == FLYING ->
        renew(i, r, TTL);
        if
        :: renewed -> renewed = false; finish(i, r, RENEWED)
        :: else -> finish(i, r, (HELD_BY_OTHER(i + 1) -> LOST_TAKEN : LOST_FREE))
        fi }
    :: d_step { stage[r] == FLYING && MAY_RENEW(i + 1, fence[i]) -> stage[r] = WAITING; written_left[r] = TTL }
    /* The row was only locked, not written: neither condition nor clock is looked at again. */
    :: atomic { stage[r] == WAITING && LEASE_OF(i + 1, fence[i]) && !row_released && !row_revoked ->
        row_left = written_left[r];
        written(true);
        finish(i, r, RENEWED) }
    :: atomic { (stage[r] == FLYING || stage[r] == WAITING) -> finish(i, r, NO_VERDICT) }
    od
}

/* `release KEY --stop`: a mark; only the holder, or time, makes the key free. */
active proctype person()
{
end:
    do
    :: d_step { LEASE_LIVE && !was_revoked -> row_revoked = true; was_revoked = true; written(true) }
    od
}

inline tick_node(c)
{
    COUNT_DOWN(sent_left[c]);
    COUNT_DOWN(deadline[c]);
    if
    :: phase[c] == OVER && LEASE_LIVE && row_holder == c + 1 -> gone_for[c]++
    :: else -> gone_for[c] = 0
    fi
}

inline check_row()
{
    for (k : 0 .. NODES - 1) {
        PROMISE(P6_dead_before_expiry, !has_tree[k] || (LEASE_OF(k + 1, fence[k]) && LEASE_LIVE));
        PROMISE(P7_nobody_holds_for_long, gone_for[k] <= 3 * TTL);
        PROMISE(P5_over_is_over, !(is_released[k] && LEASE_LIVE && row_holder == k + 1))
    }
    k = 0
}

#define IS_DUE(i)     (has_tree[i] && deadline[i] == 0)
#define IS_MOVING(i)  (has_tree[i] || sent_left[i] > 0)
#define IS_WAITING(r) (stage[r] == WAITING && written_left[r] > 0)
#define CAN_TICK \
    (!IS_DUE(0) && !IS_DUE(1) && (row_left > 0 || IS_MOVING(0) || IS_MOVING(1) || \
        IS_WAITING(0) || IS_WAITING(1) || IS_WAITING(2) || IS_WAITING(3)))

/* Time waits only for a node whose deadline has come. */
active proctype clock()
{
end:
    do
    :: d_step { CAN_TICK ->
#if !defined(NEVER_EXPIRES)
        COUNT_DOWN(row_left);
#endif
        for (k : 0 .. NODES - 1) {
            tick_node(k)
        }
        for (k : 0 .. REQUESTS - 1) {
            COUNT_DOWN(written_left[k])
        }
        check_row() }
#if STEP > 0
    :: d_step { !has_stepped && row_exists ->
        has_stepped = true;
        row_left = (row_left > STEP -> row_left - STEP : 0);
        check_row() }
#endif
#if STEP_BACK > 0
    :: d_step { !has_stepped && row_exists ->
        has_stepped = true;
        row_left = row_left + STEP_BACK;
        check_row() }
#endif
    od
}

active proctype rest()
{
    timeout;
    PROMISE(P0_comes_to_rest, phase[0] == OVER && phase[1] == OVER && !LEASE_LIVE);
    PROMISE(P0_comes_to_rest, stage[GIVEN_UP(0)] == NO_REQUEST && stage[GIVEN_UP(1)] == NO_REQUEST)
}

init
{
    atomic {
        run node(0);
        run node(1);
        run request(0, 0);
        run request(0, 1);
        run request(1, 2);
        run request(1, 3)
    }
}

ltl taken_over { [] (phase[0] == OVER -> <> has_won[1]) }
