/* SPDX-License-Identifier: ISC */
/* Where leases and runs live: PostgreSQL, or SQLite for one host. Asynchronous, and the same for
 * both: callers see requests, verdicts and failures, never SQL.
 *
 * 1. The caller owns a request and keeps it alive until its callback. What it points to (keys,
 *    holders, ...) lives as long.
 * 2. store_submit calls back exactly once, from the loop, never before it has returned. Requests
 *    are served in order, one at a time; claims, renewals, releases and undoings that wait for one
 *    another are served together (store_batch.h), each with its own verdict, limit and callback.
 *    None overtakes another of the same key.
 * 3. A request gets one attempt. It ends ANSWERED, FAILED (error and failure say how), or
 *    CANCELLED. Retrying is the caller's: it knows what a repeat means.
 * 4. The store's clock alone judges expiry. Answers carry durations left, in milliseconds, which
 *    the caller counts from sent_boot_ms: the instant before the request was sent. Instants (_us,
 *    microseconds since 1970 by the store's clock) are for showing only.
 * 5. Everything is conditional on who it is from: a late or repeated message changes nothing.
 *    Lost needs a verdict; a missing answer is never one.
 * 6. Claim, renew and release take arrays and give one verdict for each item, in order. No key
 *    may stand twice in one request.
 */
#pragma once
#include "base/error.h"
#include "base/identity.h"
#include "base/now.h"
#include "conf/store_url.h"
#include "loop/handles.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct store;
struct store_batch;
struct store_request;

/* ---- requests ---------------------------------------------------------------------------- */

enum store_kind {
    STORE_CLAIM,
    STORE_RENEW,
    STORE_RELEASE,
    STORE_UNDO,
    STORE_FREE,   /* give back by (key, holder), whatever the fence: guards, unanswered claims */
    STORE_REVOKE, /* a person's `release` */
    STORE_STATUS,
    STORE_HISTORY,
    STORE_RECALL, /* what is known of keys' slots, for a scheduler that starts */
    STORE_PURGE,
    STORE_FORGET,
    STORE_INIT,
    STORE_INSPECT,
    STORE_KIND_COUNT
};

enum store_outcome {
    STORE_ANSWERED,
    STORE_FAILED,
    STORE_CANCELLED,
};

/* How a failed attempt should be treated. */
enum store_failure {
    FAILURE_NONE,
    FAILURE_CONFLICT,    /* 40001 40P01 55P03 57014, SQLITE_BUSY: again at once, jittered */
    FAILURE_UNREACHABLE, /* no connection, no answer in time, 08 53 57P: again, backing off */
    FAILURE_READ_ONLY,   /* 25006: the next host */
    FAILURE_REFUSED,     /* 28xxx, 3D000: who we are, or the database, is refused */
    FAILURE_SCHEMA, /* 3F000 42P01 and kin, or a schema we may not use: init, or a newer program */
    FAILURE_RIGHTS, /* 42501 */
    FAILURE_OTHER,  /* everything else that the store said no to */
};

/* Whether a first claim ends on this, rather than going on until its limit. */
bool store_failure_is_final(enum store_failure failure);

typedef void (*store_cb)(struct store_request *request);

/* -- claim -- */

enum claim_verdict {
    CLAIM_WON,
    CLAIM_HELD,    /* by another, or on hold: see holder, wait_ms */
    CLAIM_DONE,    /* the slot was started by another, or a once-only key has succeeded */
    CLAIM_EARLY,   /* the slot lies wait_ms ahead of the store's clock */
    CLAIM_MISSED,  /* the slot's window is over */
    CLAIM_SKIPPED, /* the slot was given up, by an is_skipping item that found the key held */
    CLAIM_RACED,   /* looked free and was not won, or not_after had passed: look again */
};
#define CLAIM_VERDICT_COUNT 7
const char *claim_verdict_name(enum claim_verdict verdict);

#define FINGERPRINT_MAX 33 /* room, with its end */

/* The fence of a mandate in the table of another program, where nothing numbers them. */
#define FENCE_ABSENT (-1)

struct claim_item {
    const char *key;
    const char *holder; /* new for every run; kept, with attempt + 1, when a reply was lost */
    const char *run_id;
    const char *job; /* NULL: a run without a job */
    int attempt;     /* from 1: the same holder wins again only with a higher one */
    int64_t ttl_ms;
    int64_t hold_ms;         /* hold-at-least: not free again before this, 0 for none */
    int64_t limit_ms;        /* the claim must not win later than this after it was sent */
    int64_t slot_us;         /* NO_INSTANT: none */
    int64_t start_within_ms; /* with a slot: window after it; < 0: no window */
    bool is_once;            /* succeeds once for this key, ever */
    bool is_waiting;         /* HELD: its caller asks again, and wants to hear of a release */
    /* With a slot: a live lease of another ends the slot, as a run with the outcome skipped. A hold
     * does not: it ends when it was said to, and nothing runs meanwhile. */
    bool is_skipping;
    /* With a slot: a person makes up for it. A row that says missed or skipped gives way to the run
     * that wins; undone, that leaves the slot open. */
    bool is_by_hand;
    /* Of the job's schedule, and how far its past is told, at most 32 bytes. A winner writes it to
     * the key's row, one without (NULL) leaves the row's. It decides nothing here. */
    const char *fingerprint;
    int64_t guard_pid; /* SQLite: the guard, alive as long as the tree; 0 for none yet */
    bool is_rerun;     /* with a slot: its run may be taken over once it is interrupted */
    /* Takes an interrupted run over, whose mandate of this fence was its last; run_id and slot_us
     * are the run's. It wins while the run is still interrupted and the key free, whatever the
     * slot's window, and may be undone: the run is interrupted again then. DONE: it is not, or has
     * been started max_starts times and is given up now (is_first_to_tell), to be taken over no
     * more. Stands alone in its request. 0: a plain claim. */
    int64_t interrupted_fence;
    int64_t max_starts;

    /* the answer */
    enum claim_verdict verdict;
    int64_t fence;         /* WON; > 0, or FENCE_ABSENT */
    int64_t wait_ms;       /* HELD: lease or hold left; EARLY: until the slot */
    int64_t held_since_us; /* HELD */
    bool is_on_hold;       /* HELD: released, and wait_ms is the hold's */
    /* HELD, SKIPPED: who; WON with an abandoned run: whose, or else of a run that was taken over
     * who had it, if that is known. */
    char other[IDENTITY_HOLDER_MAX];
    char abandoned[IDENTITY_RUN_ID_MAX]; /* WON: the unfinished run that was closed, or "" */
    int64_t abandoned_fence;
    int64_t starts; /* WON, of a run taken over: how often it was started, this time included */
    bool is_first_to_tell; /* MISSED, SKIPPED: this claim recorded it, and its caller logs it */
    /* Of an item with a fingerprint: the row's before this claim; "" for none. */
    char previous_fingerprint[FINGERPRINT_MAX];
};

/* -- renew -- */

enum renew_verdict {
    RENEW_RENEWED,
    RENEW_LOCKED, /* somebody holds the row's lock: ask again */
    RENEW_LOST,   /* the row says another mandate, revoked, expired, released or gone */
};
const char *renew_verdict_name(enum renew_verdict verdict);

enum lost_reason {
    LOST_TAKEN,   /* another holder or fence */
    LOST_REVOKED, /* `release --stop` */
    LOST_EXPIRED, /* ours, but the store's clock says it is over; nobody holds it */
    LOST_GONE,    /* the row was deleted, or marked released by somebody */
};
const char *
lost_reason_name(enum lost_reason reason); /* a clause: "taken over by another holder" */

struct renew_item {
    const char *key;
    const char *holder;
    int64_t fence;
    int64_t ttl_ms;
    enum renew_verdict verdict;
    enum lost_reason reason;         /* LOST */
    char other[IDENTITY_HOLDER_MAX]; /* LOST_TAKEN: who holds it now, or "" */
};

/* -- release, undo, free -- */

enum run_outcome {
    OUTCOME_NONE, /* unfinished */
    OUTCOME_SUCCEEDED,
    OUTCOME_FAILED,
    OUTCOME_NOT_STARTED,
    OUTCOME_TIMED_OUT,
    OUTCOME_STOPPED,
    OUTCOME_LOST,
    OUTCOME_ABANDONED,
    OUTCOME_MISSED,
    OUTCOME_SKIPPED,
    OUTCOME_COUNT
};
const char *run_outcome_name(enum run_outcome outcome); /* "succeeded"; "unfinished" for NONE */

enum release_verdict {
    RELEASE_RELEASED, /* also when repeated */
    RELEASE_NOT_OURS, /* the row is another mandate's, or gone; it was not touched */
};

/* STORE_RELEASE: expires and marks released where (key, holder, fence) match, and writes the
 * outcome, with the tail, where (run_id, fence) match and none is written: two conditions, one
 * statement.
 * STORE_UNDO: the same for a claim that was won and not started: the run is over without a trace in
 * history, the slot is open again (a run that was taken over is interrupted again); fence 0: of a
 * claim that was never answered, whatever its fence. A claim of the run that arrives after that is
 * raced. STORE_FREE: by (key, holder) alone; the run stays unfinished. */
struct release_item {
    const char *key;
    const char *holder;
    int64_t fence;
    const char *run_id;
    enum run_outcome outcome;
    int status; /* exit status, 128 + signal, or -1 for none */
    /* The last of what the command wrote, any bytes; NULL for none. With an outcome only. */
    const char *output_tail;
    size_t output_tail_length;
    int64_t hold_ms; /* as claimed, for tables that do not keep it */
    enum release_verdict verdict;
    bool is_recorded; /* the outcome was written now (or stood there from an earlier try) */
};

/* -- release by hand -- */

enum revoke_verdict {
    REVOKE_FREED,   /* nobody held it; it is marked released */
    REVOKE_LIVE,    /* held, and no stop was asked: nothing changed */
    REVOKE_MARKED,  /* the holder's next renewal answers lost; free then, or at expires_at */
    REVOKE_FOREIGN, /* held in the table of another program by that: nothing changed */
    REVOKE_UNKNOWN, /* no such key */
};

struct revoke {
    const char *key;
    bool is_stop;
    enum revoke_verdict verdict;
    int64_t wait_ms; /* LIVE, MARKED, FOREIGN: what is left of the lease */
    char other[IDENTITY_HOLDER_MAX];
};

/* -- lists -- */

enum lease_state {
    LEASE_HELD,
    LEASE_EXPIRED, /* its holder never released it */
    LEASE_RELEASED,
    LEASE_ON_HOLD, /* released, hold-at-least not over */
};
const char *lease_state_name(enum lease_state state);

struct lease_row {
    char *key;
    char *holder;
    enum lease_state state;
    bool is_revoked;
    int64_t fence;
    int64_t acquired_us;
    int64_t expires_us;
    int64_t remaining_ms; /* of the lease or the hold; 0 when neither */
    int64_t slot_us;      /* of the last claim; NO_INSTANT for none */
};

struct run_row {
    char *run_id;
    char *key;
    char *job; /* NULL for none */
    char *holder;
    int64_t fence;
    int64_t slot_us;
    int64_t started_us;  /* NO_INSTANT when it never started (missed, skipped) */
    int64_t finished_us; /* NO_INSTANT while unfinished */
    enum run_outcome outcome;
    int status;        /* -1 for none */
    char *output_tail; /* any bytes, and a NUL; NULL for none, and where it was not wanted */
    size_t output_tail_length;
};

struct lease_list {
    const char *key; /* only this one; NULL for all */
    struct lease_row *rows;
    size_t count;
};

struct run_list {
    const char *key; /* key, job, or the id of one run; NULL for all */
    int64_t limit;   /* newest this many */
    bool wants_output_tail;
    bool is_of_slots; /* only the runs of this key with a slot of from_us or later, by slot */
    int64_t from_us;
    struct run_row *rows;
    size_t count;           /* newest first */
    int64_t oldest_slot_us; /* is_of_slots: the oldest slot that is remembered, or NO_INSTANT */
};

/* -- memory -- */

/* A run of a slot whose claim was is_rerun, and which its holder has not brought to its end: it was
 * stopped (OUTCOME_STOPPED), or is unfinished though its key is free. */
struct interrupted_run {
    char run_id[IDENTITY_RUN_ID_MAX]; /* "": there is none */
    int64_t fence;                    /* of its last mandate */
    int64_t slot_us;
    int64_t starts; /* claims of it that were won and not undone */
};

/* Of so many slots of a key, the newest, an interrupted run is looked for. */
#define INTERRUPTED_SLOTS 20

/* STORE_RECALL: one answer for each key; nothing is locked. For many keys submit pieces of about
 * a thousand, so that renewals are not kept waiting. */
struct recall_item {
    const char *key;
    const char *job;   /* this job's runs alone, where several share the key; NULL: all */
    int64_t before_us; /* slots from this instant on are left out of account; 0: none are */
    int64_t slot_us; /* the latest with a run of whatever outcome, or last won; NO_INSTANT: none */
    enum run_outcome outcome;          /* of that slot's run; OUTCOME_COUNT: no run is known */
    char fingerprint[FINGERPRINT_MAX]; /* of the last winner that had one; "" for none */
    int64_t written_us; /* when the key was last won, by the store's clock; NO_INSTANT: never */
    bool wants_interrupted;
    struct interrupted_run interrupted; /* if wanted, and the key is free */
};

/* -- upkeep -- */

struct purge {
    int64_t lease_retention_ms; /* keys without slot, hold, unfinished run */
    int64_t slot_retention_ms;  /* keys with a slot */
    int64_t run_retention_ms;   /* finished runs */
    const char *forget_key; /* STORE_FORGET: this key's row and finished runs, once-only included */
    int64_t leases_deleted;
    int64_t runs_deleted;
};

#define PURGE_DAY_MS INT64_C(86400000)
#define PURGE_USUAL                                                                                \
    ((struct purge){.lease_retention_ms = PURGE_DAY_MS,                                            \
                    .slot_retention_ms = 400 * PURGE_DAY_MS,                                       \
                    .run_retention_ms = 90 * PURGE_DAY_MS})

struct init {
    bool is_created; /* false: everything was there */
};

/* STORE_INSPECT: what a person should know before they trust this store. */
struct inspection {
    char *description;    /* "PostgreSQL 15.10, schema leaserun" */
    struct error *faults; /* each makes `check` fail */
    size_t fault_count;
    char **notes; /* good to know: isolation, synchronous_commit raised per statement, pooler */
    size_t note_count;
};

struct store_request {
    enum store_kind kind;
    int64_t limit_ms; /* the attempt is given up this long after store_submit */
    store_cb done;
    void *owner;
    union {
        struct {
            struct claim_item *items;
            size_t count;
        } claim;
        struct {
            struct renew_item *items;
            size_t count;
        } renew;
        struct {
            struct release_item *items;
            size_t count;
        } release; /* STORE_RELEASE, STORE_UNDO, STORE_FREE */
        struct {
            struct recall_item *items;
            size_t count;
        } recall;
        struct revoke revoke;
        struct lease_list leases;
        struct run_list runs;
        struct purge purge;
        struct init init;
        struct inspection inspection;
    } u;

    /* the answer */
    enum store_outcome outcome;
    enum store_failure failure; /* FAILED */
    struct error error;         /* FAILED: a sentence */
    int64_t sent_boot_ms; /* before it left; 0: it never did, so the store cannot know of it */
    int64_t answered_boot_ms;

    /* the store's own */
    struct store_request *next;
    struct store_batch *batch; /* served as a part of this; NULL: by itself, or not yet */
    bool is_alone;             /* not to be served as a part of one again */
    bool is_waited_for;        /* others wait behind it: it is not to wait long for a lock */
    int64_t give_up_boot_ms;
};

/* Frees the rows of STORE_STATUS, STORE_HISTORY and STORE_INSPECT answers. */
void store_request_clear(struct store_request *request);

/* ---- the store itself -------------------------------------------------------------------- */

/* What happens outside any request. Called from the loop. */
struct store_listener {
    void (*lost)(void *owner, const struct error *why); /* connection lost, or a connect failed */
    void (*restored)(void *owner);                      /* connected after that */
    /* Something about the store that a person should know: a failover, or, which is grave, that two
     * hosts share an SQLite file. */
    void (*note)(void *owner, bool is_grave, const char *text);
    /* A key was given back, as a store may tell those whose claim waits for it. A hint: it may be
     * missing, late or wrong. Nothing is to be submitted from within. */
    void (*released)(void *owner, const char *key);
    void *owner;
};

/* Whether there is a backend for it, by its beginning alone (ERROR_CONFIG). */
bool store_check_url(const char *url, struct error *err);

/* Of one host alone, by the URL's beginning. Such a store looks whether its holders live: a claim
 * needs its guard to be there. With others a guard can wait until the claim is won. */
bool store_url_is_local(const char *url);

/* Picks the backend by URL, loads its module from the folder of libexec programs and starts
 * connecting. Fails (ERROR_CONFIG, ERROR_USAGE) on an unknown scheme, a module that is missing or
 * of another build, or a URL that the backend cannot read. */
bool store_open(uv_loop_t *loop, const struct store_config *config,
                const struct store_listener *listener, struct store **ret_store, struct error *err);

void store_submit(struct store *store, struct store_request *request);

/* Makes the one callback come soon: CANCELLED at once when the request has not been sent, else
 * nothing changes: its answer or its limit comes. */
void store_cancel(struct store *store, struct store_request *request);

/* Brings the request's limit nearer: no later than ms from now. */
void store_hasten(struct store *store, struct store_request *request, int64_t ms);

/* Calls back what still waits with CANCELLED, drops the connection, and then calls closed. */
typedef void (*store_closed_cb)(void *owner);
void store_close(struct store *store, store_closed_cb closed, void *owner);

/* The statements of init as text for a DBA, with the grants (PostgreSQL only). */
bool store_print_sql(const struct store_config *config, char **ret_sql, struct error *err);
