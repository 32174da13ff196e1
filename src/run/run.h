/* SPDX-License-Identifier: ISC */
/* One run of one job: owns the claim, the command with its guard, the renewals and the release,
 * and performs what run_state says. It logs every fault once and ends with an exit status.
 *
 * Two use it. `run` starts one from what was typed: it opens its own store, and its guard starts
 * while the store connects. A scheduler starts one for each slot: it lends its stores, gets a
 * guard once the claim is won, and hears itself what became of the claim. */
#pragma once
#include "base/fds.h"
#include "base/time_text.h"
#include "command/command.h"
#include "conf/job.h"
#include "lease/claim.h"
#include "lease/release.h"
#include "lease/renew.h"
#include "log/log.h"
#include "run/run_record.h"
#include "run/run_state.h"
#include "run/terminal.h"

#include <stdbool.h>

struct run;
struct hooks;

/* What a scheduler hears; from the loop. */
struct run_listener {
    void (*claim_failed)(struct run *run); /* its first failed attempt: run->claim.error */
    /* Once, however it ended: run->claim has the answer. The command has not been started yet. */
    void (*claimed)(struct run *run, enum claim_result result);
};

/* At which level a run tells what is right for the one and too much for the other. */
struct run_levels {
    enum level usual;   /* claim_won, run_finished */
    enum level failed;  /* the command failed */
    enum level stopped; /* and was cut short by a signal to leaserun */
};

/* Everything is borrowed and lives as long as the run. */
struct run_spec {
    const struct job *job;
    const struct store_config *store; /* opened by the run, unless two are lent; for the guard */
    struct log *log;
    const struct command_plan *plan;
    struct fds *given; /* let go once the guard holds them; NULL: nothing to let go */
    const struct signals_given *signals;

    const char *key;         /* of the lease */
    int64_t slot_us;         /* NO_INSTANT: none */
    const char *run_id;      /* of the run that the claim takes over; NULL: of its own */
    struct claim_spec claim; /* guard_pid is the run's to fill */
    struct run_levels levels;
    struct hooks *hooks; /* which run those of the job; NULL: it has none */

    /* Of a scheduler: */
    struct store *claims, *renewals; /* open, lent; releases go with the renewals */
    bool is_guard_late;              /* it is started once the claim is won */
    const struct run_listener *listener;
    void *owner;
};

struct run {
    struct run_spec spec;
    uv_loop_t *loop;
    enum run_state state;
    struct store *claims, *renewals;
    bool has_own_store;
    struct command *command; /* NULL until there is a guard */
    struct lease lease;
    struct claim claim;
    struct renew renew;
    struct release release;
    struct terminal terminal;
    struct alarm out_of_time;   /* at the lease's TERM instant */
    struct alarm time_up;       /* the job's timeout */
    struct alarm pause;         /* until the next attempt */
    struct alarm suspend_again; /* Ctrl-Z came while a claim was out */
    struct handles handles;

    struct run_facts facts;
    struct run_record record; /* once released: what was told to the store */
    struct error why_not_started;
    char slot_text[TIME_TEXT_MAX];
    int attempt; /* of the command, from 1 */
    int64_t started_boot_ms;
    int64_t command_pid;   /* 0 until started: also its process group */
    int64_t stop_grace_ms; /* TERM to KILL when it is told to end */
    int stop_signal;       /* the first: it ends the run */
    int last_signal;       /* to be passed on */
    enum lost_reason lost_reason;
    bool has_terminal, gives_terminal;
    bool wants_terminal; /* the command has asked for it, in a pipeline or in the background */
    bool is_out_of_time;
    bool is_store_lost; /* told: restored will be told too */
    bool is_suspending; /* the command was stopped by the terminal; we follow when no renewal is out
                         */
    bool is_interrupted; /* the terminal's signal ended the command, past leaserun */
    bool is_undone;      /* won and not started: why_not_started; its slot is open again */
    bool is_closing;     /* and waits for a renewal that is out */
    int exit_code;       /* once finished */
    void (*finished)(struct run *run);
};

/* The parts of a spec that `run` takes from the job and this moment: key, slot, claim, levels. */
void run_spec_fill(struct run_spec *spec);

/* Starts the guard, opens the store (each only where the spec says so), and claims. Calls finished
 * once, from the loop, with run->exit_code set. Fails, with nothing left behind, when a program or
 * module is missing or the URL cannot be read. */
bool run_start(struct run *run, uv_loop_t *loop, const struct run_spec *spec,
               void (*finished)(struct run *run), struct error *err);

/* A signal came to leaserun: HUP INT QUIT TERM end the run, USR1 USR2 are passed on, TSTP and CONT
 * are the terminal's. */
void run_signal(struct run *run, int number);

/* Ends the run as SIGTERM does, with another time from TERM to KILL than the job's grace. */
void run_stop(struct run *run, int64_t grace_ms);

/* No more time: KILL now, and little left for the release. */
void run_hasten(struct run *run, int64_t release_ms);

/* The store is back after an outage: what waits asks again at once. */
void run_store_is_back(struct run *run);

/* The command was told to start and its tree is not known to be empty. */
bool run_has_command(const struct run *run);

/* After finished: closes what the run has opened, then calls closed. */
void run_close(struct run *run, void (*closed)(struct handles *handles));
