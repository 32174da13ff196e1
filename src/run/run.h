/* SPDX-License-Identifier: ISC */
/* One run of one job: owns the claim, the command with its guard, the renewals and the release,
 * and performs what run_state says. It logs every fault once and ends with an exit status. */
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

/* Everything is borrowed and lives as long as the run. */
struct run_spec {
    const struct job *job;
    const struct store_config *store;
    struct log *log;
    const struct command_plan *plan;
    struct fds *given; /* let go once the guard holds them */
    const struct signals_given *signals;
};

struct run {
    struct run_spec spec;
    uv_loop_t *loop;
    enum run_state state;
    struct store *store;
    struct command *command;
    struct lease lease;
    struct claim claim;
    struct renew renew;
    struct release release;
    struct terminal terminal;
    struct alarm out_of_time;   /* at the lease's TERM instant */
    struct alarm time_up;       /* --timeout */
    struct alarm suspend_again; /* Ctrl-Z came while a claim was out */
    struct handles handles;

    struct run_facts facts;
    struct run_record record; /* once released: what was told to the store */
    struct error why_not_started;
    char slot_text[TIME_TEXT_MAX];
    int64_t started_boot_ms;
    int64_t command_pid; /* 0 until started: also its process group */
    int64_t abandoned_fence;
    int stop_signal; /* the first: it ends the run */
    int last_signal; /* to be passed on */
    enum lost_reason lost_reason;
    bool has_terminal, gives_terminal;
    bool wants_terminal; /* the command has asked for it, in a pipeline or in the background */
    bool is_out_of_time;
    bool is_store_lost; /* told: restored will be told too */
    bool is_suspending; /* the command was stopped by the terminal; we follow when no renewal is out
                         */
    bool is_interrupted; /* the terminal's signal ended the command, past leaserun */
    int exit_code;       /* once finished */
    void (*finished)(struct run *run);
};

/* Starts the guard, opens the store, and claims. Calls finished once, from the loop, with
 * run->exit_code set. Fails, with nothing left behind, when a program or module is missing or the
 * URL cannot be read. */
bool run_start(struct run *run, uv_loop_t *loop, const struct run_spec *spec,
               void (*finished)(struct run *run), struct error *err);

/* A signal came to leaserun: HUP INT QUIT TERM end the run, USR1 USR2 are passed on, TSTP and CONT
 * are the terminal's. */
void run_signal(struct run *run, int number);

/* The command was told to start and its tree is not known to be empty. */
bool run_has_command(const struct run *run);

/* After finished: closes the store and all handles, then calls closed. */
void run_close(struct run *run, void (*closed)(struct handles *handles));
