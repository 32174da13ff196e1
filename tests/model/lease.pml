/* SPDX-License-Identifier: ISC */
/* What the models share: time, the row of one key, and the statements as the store runs them.
 *
 * Keys do not meet: a batch gives one verdict for each key, so one key is enough. A statement is
 * one atomic step, since each write of the store is a single statement under the row's lock; what
 * may wait before it (the network, the lock) is a step of its own in the model that cares.
 *
 * Time is discrete and only passes in a model's clock process. Nothing holds an instant: of an
 * instant only its distance matters, so deadlines are countdowns ("left") that stop at 0. All
 * clocks run at one rate; the store's may stand anywhere, for no one compares it with another.
 *
 * A promise is asserted as `cond || name`: name is always 0 and is there to be read in the report.
 * A mutant is a switch that breaks one rule of the protocol. */

#ifndef TTL
#define TTL 3
#endif
#ifndef MARGIN
#define MARGIN 1 /* the tree is dead this long before the store may give the lease away */
#endif
#ifndef LIMIT
#define LIMIT 1 /* of a claim: it must not win later than this after it was sent */
#endif

#define PROMISE(name, cond) assert((cond) || name)
#define COUNT_DOWN(left)    left = (left > 0 -> left - 1 : 0)

hidden byte P2_fence_grows; /* the fence grows with every mandate */

bool row_exists, row_released, row_revoked;
byte row_holder, row_attempt, row_fence; /* holder 0: nobody */
byte row_left;                           /* until expires_at, by the store's clock */
byte fence_seq;
byte fence_top; /* the highest fence that any mandate of the key has had */
bool won, wrote, renewed; /* what the last statement did; false between steps */

#define LEASE_LIVE           (row_exists && !row_released && row_left > 0)
#define LEASE_OF(me, number) (row_exists && row_holder == (me) && row_fence == (number))
#define HELD_BY_OTHER(me)    (LEASE_LIVE && row_holder != (me))

/* The same holder wins again, when a reply was lost, but a duplicate of its claim does not. */
#if defined(NO_ATTEMPT)
#define MAY_WIN_AGAIN(nth) (!row_released && !row_revoked)
#elif defined(REWON_AFTER_RELEASE)
#define MAY_WIN_AGAIN(nth) (row_released || ((nth) > row_attempt && !row_revoked))
#else
#define MAY_WIN_AGAIN(nth) (!row_released && !row_revoked && (nth) > row_attempt)
#endif

#if defined(REVOKED_IS_FREE)
#define ROW_IS_FREE (row_released || row_left == 0 || row_revoked)
#else
#define ROW_IS_FREE (row_released || row_left == 0)
#endif

#define MAY_WIN(me, nth) \
    (!row_exists || (row_holder == (me) && MAY_WIN_AGAIN(nth)) || (row_holder != (me) && ROW_IS_FREE))

/* The number of a new mandate: from the sequence, above the row's, under the row's lock. */
inline draw_fence(me, drawn)
{
#if defined(EXCLUDED_FENCE)
    row_fence = drawn; /* from before the lock */
#elif defined(FENCE_KEPT)
    if
    :: row_exists && row_holder == (me)
    :: else -> fence_seq++; row_fence = fence_seq
    fi;
#elif defined(FENCE_OF_ROW)
    row_fence = row_fence + 1; /* no sequence: starts again where a row does */
#else
    fence_seq++;
    row_fence = (fence_seq > row_fence -> fence_seq : row_fence + 1);
#endif
    PROMISE(P2_fence_grows, row_fence > fence_top);
    fence_top = row_fence
}

inline store_claim(me, nth, drawn)
{
    if
    :: MAY_WIN(me, nth) ->
        draw_fence(me, drawn);
        row_exists = true;
        row_holder = me;
        row_attempt = nth;
        row_left = TTL;
        row_released = false;
        row_revoked = false;
        won = true
    :: else
    fi
}

#if defined(RENEW_BY_KEY)
#define MAY_RENEW(me, number) (row_exists)
#elif defined(RENEW_RELEASED)
#define MAY_RENEW(me, number) (LEASE_OF(me, number) && !row_revoked)
#else
#define MAY_RENEW(me, number) (LEASE_OF(me, number) && !row_released && !row_revoked && row_left > 0)
#endif

/* left: TTL, less what the statement waited for the lock after it had read the clock. */
inline store_renew(me, number, left)
{
    if
    :: MAY_RENEW(me, number) ->
        row_left = left;
#if defined(RENEW_RELEASED) || defined(RENEW_BY_KEY)
        row_released = false;
#endif
        renewed = true
    :: else
    fi
}

inline expire_in_place()
{
    row_left = 0;
    row_revoked = false;
#if !defined(RELEASE_BY_TIME)
    row_released = true;
#endif
    wrote = true
}

inline store_release(me, number)
{
    if
#if defined(RELEASE_BY_KEY)
    :: row_exists -> expire_in_place()
#else
    :: LEASE_OF(me, number) && !row_released -> expire_in_place()
#endif
    :: else
    fi
}

inline store_free(me)
{
    if
    :: row_exists && row_holder == (me) && !row_released -> expire_in_place()
    :: else
    fi
}
