/* SPDX-License-Identifier: ISC */
/* Claims, and the messages that end a mandate (release, undo), over a network that delays,
 * drops, doubles and reorders them. Every client makes one run, under a holder of its own; it may
 * ask again with a higher attempt when an answer does not come, and may die at any moment.
 *
 * A claim is a look, which answers `held`, and then the conditional write. A duplicate may look or
 * write at any later time. The client may take an answer late, or never.
 *
 * Left out: renewals (expiry.pml), so a command ends by its first deadline; guards (guard.pml): a
 * client is leaserun and guard in one, and ends its command in time; slots (slots.pml).
 *
 * bounds: -DCLIENTS=2 -DATTEMPTS=2 -DCOPIES=2 -DTTL=2
 * bounds long: -DCLIENTS=3 -DATTEMPTS=2 -DCOPIES=1 -DTTL=2
 * bounds long: -DCLIENTS=2 -DATTEMPTS=3 -DCOPIES=1 -DTTL=3
 * bounds long: -DCLIENTS=2 -DATTEMPTS=2 -DCOPIES=3 -DTTL=2
 * bounds long: -DCLIENTS=2 -DATTEMPTS=2 -DCOPIES=2 -DTTL=4 -DLIMIT=2
 *
 * reach: nth[0] == 2 && phase[0] == RUNNING && row_fence == 2 -- an answer was lost and the run won again
 * reach: phase[0] == RUNNING && phase[1] == OVER && fence[1] == 1 && copies[2] > 0 -- a key changes hands while a duplicate of the last holder's claim flies
 * reach: LEASE_LIVE && row_holder == 1 && phase[0] == OVER && gone_for[0] == 0 -- a claim wins for a client that has gone
 * reach: ending[0] == NO_END && is_over[0] && !row_exists && copies[0] > 0 -- a claim is undone before it arrives
 * reach: is_over[0] && row_holder == 2 && row_released && copies[0] > 0 -- a claim that was undone still flies when another's mandate is over
 *
 * mutant NO_ATTEMPT breaks P5_healthy_run_lives: the same holder wins again whatever the attempt
 * mutant FENCE_KEPT breaks P2_fence_grows: the fence does not advance when the same holder claims again
 * mutant EXCLUDED_FENCE breaks P2_fence_grows: the fence is drawn before the row's lock
 * mutant NO_NOT_AFTER breaks P7_nobody_holds_for_long: a claim may win at any later time
 * mutant REWON_AFTER_RELEASE breaks P5_over_is_over: a late duplicate wins after the release
 * mutant UNDONE_WITHOUT_TRACE breaks P5_over_is_over: an undone run leaves no row
 * mutant NO_RUN_ROW breaks P5_over_is_over: only the lease's row is asked, not the run's
 * mutant RELEASE_BY_KEY breaks P5_others_untouched: a release names only the key
 * mutant RACED_IS_HELD breaks P4_held_is_true: a write that lost a race is told as held
 * mutant DEADLINE_UNCHECKED breaks P1_exclusion: a win that came too late is started */

#include "lease.pml"

hidden byte P1_exclusion;             /* two mandates' commands never run together */
hidden byte P4_held_is_true;          /* held is told only when another held the key */
hidden byte P5_others_untouched;      /* a message changes nothing of another's live mandate */
hidden byte P5_healthy_run_lives;     /* no late or doubled message takes the lease of a run within its deadline */
hidden byte P5_over_is_over;          /* a run that was released or undone never holds the key again */
hidden byte P6_dead_before_expiry;    /* a command has ended before its lease is over */
hidden byte P7_nobody_holds_for_long; /* a lease outlives its client by no more than the claim's limit and a ttl */
hidden byte P0_comes_to_rest;         /* no deadlock: all ends with the key free and nothing under way */

#define CLAIMS (CLIENTS * ATTEMPTS)
#define CLAIM_OF(i, n) (i * ATTEMPTS + n - 1)
#define ANY_OF_4(is, m) (is(m) || is(m + 1) || is(m + 2) || is(m + 3))
#if CLIENTS == 2
#define ANY_CLIENT(is) (is(0) || is(1))
#else
#define ANY_CLIENT(is) (is(0) || is(1) || is(2))
#endif
#if CLIENTS * ATTEMPTS == 4
#define ANY_CLAIM(is) ANY_OF_4(is, 0)
#else
#define ANY_CLAIM(is) (ANY_OF_4(is, 0) || is(4) || is(5))
#endif

mtype:phases = { IDLE, ASKING, RUNNING, OVER };
mtype:answers = { NONE, WON, HELD, RACED };
mtype:ends = { NO_END, RELEASE, UNDO, UNDO_UNANSWERED };

mtype:phases phase[CLIENTS] = IDLE;
mtype:answers answer[CLIENTS] = NONE; /* to the attempt that the client waits for */
mtype:ends ending[CLIENTS] = NO_END;
byte end_copies[CLIENTS];
byte nth[CLIENTS], fence[CLIENTS];
byte sent_left[CLIENTS]; /* the deadline that the attempt would give, counted from before it was sent */
byte deadline[CLIENTS];
byte gone_for[CLIENTS];
bool is_over[CLIENTS]; /* the run's row has its outcome */
bool has_ended[CLIENTS]; /* it was released or undone, whatever the rows say */

byte copies[CLAIMS]; /* on their way */
byte not_after[CLAIMS];
#if defined(EXCLUDED_FENCE)
byte looked[CLAIMS], drawn[CLAIMS]; /* waiting for the row's lock */
#define DRAWN(m)     drawn[m]
#define UNDER_WAY(m) (copies[m] > 0 || looked[m] > 0)
#else
#define DRAWN(m)     0
#define UNDER_WAY(m) (copies[m] > 0)
#endif

hidden byte k;
bool others;

inline check_healthy()
{
    for (k : 0 .. CLIENTS - 1) {
        PROMISE(P5_healthy_run_lives,
                phase[k] != RUNNING || deadline[k] == 0 || (LEASE_OF(k + 1, fence[k]) && LEASE_LIVE))
    }
    k = 0
}

inline end_with(i, kind)
{
    ending[i] = kind;
    end_copies[i] = (kind == NO_END -> 0 : COPIES);
    phase[i] = OVER;
    answer[i] = NONE;
    nth[i] = 0;
    sent_left[i] = 0;
    deadline[i] = 0;
    if
    :: end_copies[i] == 0 -> fence[i] = 0
    :: else
    fi
}

#if defined(DEADLINE_UNCHECKED)
#define IN_TIME(i) true
#else
#define IN_TIME(i) (sent_left[i] > 0)
#endif

proctype client(byte i)
{
end:
    do
    :: d_step { nth[i] < ATTEMPTS &&
            (phase[i] == IDLE || (phase[i] == ASKING && answer[i] != WON && answer[i] != HELD)) ->
        nth[i]++;
        copies[CLAIM_OF(i, nth[i])] = COPIES;
        not_after[CLAIM_OF(i, nth[i])] = LIMIT;
        sent_left[i] = TTL - MARGIN;
        answer[i] = NONE;
        phase[i] = ASKING }
    :: d_step { answer[i] == WON && IN_TIME(i) ->
        for (k : 0 .. CLIENTS - 1) {
            PROMISE(P1_exclusion, phase[k] != RUNNING)
        }
        k = 0;
        phase[i] = RUNNING;
        deadline[i] = sent_left[i];
        sent_left[i] = 0;
        answer[i] = NONE;
        check_healthy() }
    :: d_step { answer[i] == WON -> end_with(i, UNDO) } /* too late, a shutdown, or it cannot start */
    :: d_step { answer[i] == HELD -> end_with(i, NO_END) }
    :: d_step { phase[i] == ASKING && answer[i] != WON -> end_with(i, UNDO_UNANSWERED) } /* gives up */
    :: d_step { phase[i] == RUNNING -> end_with(i, RELEASE) }
    :: d_step { phase[i] != OVER -> end_with(i, NO_END) } /* dies */
    od
}

#define IS_AWAITED(i, n) (phase[i] == ASKING && nth[i] == n && answer[i] == NONE)

/* The answer to attempt n, which may get lost, or come when nobody waits. */
inline reply(i, n, what)
{
    if
    :: IS_AWAITED(i, n) -> answer[i] = what
    :: true
    fi
}

#if defined(NO_NOT_AFTER)
#define IS_WANTED(m) true
#else
#define IS_WANTED(m) (not_after[m] > 0)
#endif
#if defined(NO_RUN_ROW) || defined(REWON_AFTER_RELEASE)
#define IS_OPEN(i) true
#else
#define IS_OPEN(i) (!is_over[i])
#endif

#if defined(RACED_IS_HELD)
#define NOT_WON(i) HELD
#else
#define NOT_WON(i) (HELD_BY_OTHER(i + 1) -> HELD : RACED)
#endif

/* A look that found the key held; or a write, whose look was some time ago and found it free. */
inline look_and_write(i, m, n)
{
    others = HELD_BY_OTHER(i + 1);
    if
    :: IS_WANTED(m) && IS_OPEN(i) -> store_claim(i + 1, n, DRAWN(m))
    :: else
    fi;
    PROMISE(P5_others_untouched, !(others && won));
    if
    :: won ->
        others = false;
        won = false;
        PROMISE(P5_over_is_over, !has_ended[i]);
        if
        :: IS_AWAITED(i, n) -> answer[i] = WON; fence[i] = row_fence
        :: true
        fi
    :: else ->
        PROMISE(P4_held_is_true, !IS_AWAITED(i, n) || NOT_WON(i) != HELD || others);
        if
        :: others -> others = false; reply(i, n, RACED)
        :: others = false; reply(i, n, NOT_WON(i))
        fi
    fi;
    check_healthy()
}

inline forget(m)
{
    if
    :: !UNDER_WAY(m) -> not_after[m] = 0
    :: else
    fi
}

/* One attempt's way through the store. One that gets lost does no more than one that is late. */
proctype attempt(byte i; byte n)
{
    byte m = i * ATTEMPTS + n - 1;
end:
    do
#if defined(EXCLUDED_FENCE)
    :: d_step { copies[m] > 0 -> copies[m]--; looked[m]++; fence_seq++; drawn[m] = fence_seq }
    :: atomic { looked[m] > 0 -> looked[m]--; look_and_write(i, m, n); forget(m) }
#else
    :: atomic { copies[m] > 0 -> copies[m]--; look_and_write(i, m, n); forget(m) }
#endif
    od
}

inline apply_end(i)
{
    others = LEASE_LIVE &&
             !(row_holder == i + 1 && (ending[i] == UNDO_UNANSWERED || row_fence == fence[i]));
    if
    :: ending[i] == UNDO_UNANSWERED -> store_free(i + 1)
    :: else -> store_release(i + 1, fence[i])
    fi;
    PROMISE(P5_others_untouched, !(others && wrote));
    if
    :: wrote && ending[i] == RELEASE -> is_over[i] = true; has_ended[i] = true
    :: ending[i] == UNDO || ending[i] == UNDO_UNANSWERED ->
        has_ended[i] = true;
#if !defined(UNDONE_WITHOUT_TRACE)
        is_over[i] = true
#endif
    :: else
    fi;
    others = false;
    wrote = false;
    check_healthy()
}

inline forget_end(i)
{
    if
    :: end_copies[i] == 0 -> ending[i] = NO_END; fence[i] = 0
    :: else
    fi
}

proctype ender(byte i)
{
end:
    do
    :: d_step { end_copies[i] > 0 -> end_copies[i]--; apply_end(i); forget_end(i) }
    :: d_step { end_copies[i] > 0 -> end_copies[i]--; forget_end(i) } /* lost */
    od
}

#if ATTEMPTS == 2
#define HAS_CLAIMS(c) (UNDER_WAY(CLAIM_OF(c, 1)) || UNDER_WAY(CLAIM_OF(c, 2)))
#else
#define HAS_CLAIMS(c) (UNDER_WAY(CLAIM_OF(c, 1)) || UNDER_WAY(CLAIM_OF(c, 2)) || UNDER_WAY(CLAIM_OF(c, 3)))
#endif

inline tick_client(c)
{
    COUNT_DOWN(sent_left[c]);
    COUNT_DOWN(deadline[c]);
    if
    :: phase[c] == OVER && (HAS_CLAIMS(c) || (LEASE_LIVE && row_holder == c + 1)) ->
        gone_for[c] = (gone_for[c] > LIMIT + TTL -> gone_for[c] : gone_for[c] + 1)
    :: else -> gone_for[c] = 0 /* it holds nothing, and nothing of it is left that could win */
    fi
}

#define IS_DUE(i)    (phase[i] == RUNNING && deadline[i] == 0)
#define IS_MOVING(i) (phase[i] == RUNNING || sent_left[i] > 0 || end_copies[i] > 0)
#define CAN_TICK     (!ANY_CLIENT(IS_DUE) && (row_left > 0 || ANY_CLIENT(IS_MOVING) || ANY_CLAIM(UNDER_WAY)))

/* Time waits for nobody but a client that can run and whose deadline has come. */
active proctype clock()
{
end:
    do
    :: d_step { CAN_TICK ->
        COUNT_DOWN(row_left);
        for (k : 0 .. CLAIMS - 1) {
            COUNT_DOWN(not_after[k])
        }
        for (k : 0 .. CLIENTS - 1) {
            tick_client(k);
            PROMISE(P6_dead_before_expiry, phase[k] != RUNNING || (LEASE_OF(k + 1, fence[k]) && LEASE_LIVE))
        }
        k = 0;
        PROMISE(P7_nobody_holds_for_long,
                !LEASE_LIVE || phase[row_holder - 1] != OVER || gone_for[row_holder - 1] <= LIMIT + TTL) }
    od
}

active proctype rest()
{
    timeout;
    for (k : 0 .. CLIENTS - 1) {
        PROMISE(P0_comes_to_rest, phase[k] == OVER && end_copies[k] == 0)
    }
    for (k : 0 .. CLAIMS - 1) {
        PROMISE(P0_comes_to_rest, !UNDER_WAY(k))
    }
    PROMISE(P0_comes_to_rest, !LEASE_LIVE)
}

init
{
    byte i, n;
    atomic {
        for (i : 0 .. CLIENTS - 1) {
            run client(i);
            run ender(i);
            for (n : 1 .. ATTEMPTS) {
                run attempt(i, n)
            }
        }
        i = 0;
        n = 0
    }
}
