/* SPDX-License-Identifier: ISC */
/* Purge beside claims, renewals and late messages. A purge first looks for rows to delete, and
 * deletes later; meanwhile the key may be claimed. Clients hold the key in turn; each has a holder
 * of its own, renews, releases with its outcome, or dies and leaves its run unfinished, which the
 * next winner closes. A release, and one renewal, may arrive much later.
 *
 * Left out: slots and holds, which only keep a row from being purged at all; rows that are locked
 * are skipped, which here is a purge that comes later.
 *
 * bounds: -DCLIENTS=4 -DPURGES=2 -DTTL=3 -DRETENTION=2
 * bounds long: -DCLIENTS=5 -DPURGES=4 -DTTL=4 -DRETENTION=3
 *
 * reach: !row_exists && fence_seq == 2 && phase[2] == IDLE -- a key is purged after two mandates
 * reach: row_exists && row_holder == 2 && LEASE_LIVE && is_chosen -- a purge is about to delete a key that was claimed again
 *
 * mutant BLIND_DELETE breaks P5_purge_spares_live: the DELETE does not repeat the condition
 * mutant PURGES_UNFINISHED breaks P4_purge_spares_unfinished: the condition does not ask for unfinished runs
 * mutant FENCE_OF_ROW breaks P2_fence_grows: fences come from the row, not from a sequence
 * mutant RELEASE_BY_KEY breaks P5_others_untouched: a late release names only the key
 * mutant RENEW_BY_KEY breaks P5_others_untouched: a late renewal names only the key
 * mutant RENEW_INSERTS breaks P5_others_untouched: a renewal brings a deleted row back */

#include "lease.pml"

hidden byte P4_purge_spares_unfinished; /* the row of a key with an unfinished run is never deleted */
hidden byte P5_purge_spares_live;       /* a live lease is never deleted */
hidden byte P5_others_untouched;        /* no message of an older mandate changes or makes a row */
hidden byte P5_healthy_run_lives;       /* a run within its deadline keeps its lease */
hidden byte P0_comes_to_rest;           /* no deadlock: all clients have ended and no message is left */

mtype:phases = { IDLE, RUNNING, OVER };

mtype:phases phase[CLIENTS] = IDLE;
byte fence[CLIENTS], deadline[CLIENTS];
bool has_release[CLIENTS], has_renewal[CLIENTS]; /* on their way */
byte open_run;  /* holder of the key's unfinished run, 0: none */
byte idle_for;  /* since the lease was over */
byte purges;
bool is_chosen; /* a purge has seen the row and will delete it */
bool others;
hidden byte k;

inline check_healthy()
{
    for (k : 0 .. CLIENTS - 1) {
        PROMISE(P5_healthy_run_lives,
                phase[k] != RUNNING || deadline[k] == 0 || (LEASE_OF(k + 1, fence[k]) && LEASE_LIVE))
    }
    k = 0
}

inline finish(i, has_sent_release)
{
    phase[i] = OVER;
    deadline[i] = 0;
    has_release[i] = has_sent_release
}

proctype client(byte i)
{
end:
    do
    :: d_step { phase[i] == IDLE && MAY_WIN(i + 1, 1) ->
        store_claim(i + 1, 1, 0);
        won = false;
        open_run = i + 1;
        idle_for = 0;
        fence[i] = row_fence;
        deadline[i] = TTL - MARGIN;
        phase[i] = RUNNING;
        check_healthy() }
    :: d_step { phase[i] == RUNNING && deadline[i] > 0 ->
        store_renew(i + 1, fence[i], TTL);
        PROMISE(P5_healthy_run_lives, renewed);
        renewed = false;
        deadline[i] = TTL - MARGIN }
    :: d_step { phase[i] == RUNNING -> finish(i, true) }
    :: d_step { phase[i] == RUNNING -> finish(i, true); has_renewal[i] = true } /* given up, still on its way */
    :: d_step { phase[i] == RUNNING -> finish(i, false) }                       /* dies */
    :: d_step { has_release[i] ->
        has_release[i] = false;
        others = row_exists && !LEASE_OF(i + 1, fence[i]);
        store_release(i + 1, fence[i]);
        PROMISE(P5_others_untouched, !(others && wrote));
        others = false;
        wrote = false;
        open_run = (open_run == i + 1 -> 0 : open_run);
        check_healthy() }
    :: d_step { has_renewal[i] ->
        has_renewal[i] = false;
        others = !LEASE_OF(i + 1, fence[i]);
        store_renew(i + 1, fence[i], TTL);
#if defined(RENEW_INSERTS)
        if
        :: !row_exists -> row_exists = true; row_holder = i + 1; row_left = TTL; row_released = false; renewed = true
        :: else
        fi;
#endif
        PROMISE(P5_others_untouched, !(others && renewed));
        others = false;
        idle_for = (renewed -> 0 : idle_for);
        renewed = false;
        check_healthy() }
    od
}

#if defined(PURGES_UNFINISHED)
#define MAY_PURGE (row_exists && !LEASE_LIVE && idle_for >= RETENTION)
#else
#define MAY_PURGE (row_exists && !LEASE_LIVE && idle_for >= RETENTION && open_run == 0)
#endif
#if defined(BLIND_DELETE)
#define MAY_DELETE row_exists
#else
#define MAY_DELETE MAY_PURGE
#endif

active proctype purge()
{
end:
    do
    :: d_step { purges < PURGES && !is_chosen && MAY_PURGE -> is_chosen = true; purges++ }
    :: d_step { is_chosen ->
        if
        :: MAY_DELETE ->
            PROMISE(P5_purge_spares_live, !LEASE_LIVE);
            PROMISE(P4_purge_spares_unfinished, open_run == 0);
            row_exists = false;
            row_holder = 0;
            row_attempt = 0;
            row_fence = 0;
            row_left = 0;
            row_released = false;
            idle_for = 0
        :: else
        fi;
        is_chosen = false;
        check_healthy() }
    od
}

#define IS_DUE(i)     (phase[i] == RUNNING && deadline[i] == 0)
#define IS_RUNNING(i) (phase[i] == RUNNING)
#if CLIENTS == 4
#define ANY(is) (is(0) || is(1) || is(2) || is(3))
#else
#define ANY(is) (is(0) || is(1) || is(2) || is(3) || is(4))
#endif

active proctype clock()
{
end:
    do
    :: d_step { !ANY(IS_DUE) && (row_left > 0 || ANY(IS_RUNNING) || (row_exists && idle_for < RETENTION)) ->
        idle_for = (row_exists && !LEASE_LIVE && idle_for < RETENTION -> idle_for + 1 : idle_for);
        COUNT_DOWN(row_left);
        for (k : 0 .. CLIENTS - 1) {
            COUNT_DOWN(deadline[k])
        }
        check_healthy() }
    od
}

active proctype rest()
{
    timeout;
    for (k : 0 .. CLIENTS - 1) {
        PROMISE(P0_comes_to_rest, phase[k] == OVER && !has_release[k] && !has_renewal[k])
    }
    PROMISE(P0_comes_to_rest, !LEASE_LIVE && !is_chosen)
}

init
{
    atomic {
        run client(0);
        run client(1);
        run client(2);
        run client(3);
#if CLIENTS > 4
        run client(4)
#endif
    }
}
