/* SPDX-License-Identifier: ISC */
/* Between run.c, which performs, run_hears.c, which hears, and run_command.c; for nobody else. */
#pragma once
#include "run/run.h"

/* The one place where the state changes. */
void run_inside_happen(struct run *run, enum run_event event);

/* No renewal is out any more, after they were stopped. */
void run_inside_quiet(struct run *run);

/* ---- run_hears.c ---- */

extern const struct claim_listener run_hears_claim;
extern const struct renew_listener run_hears_renew;
extern const struct command_listener run_hears_command;
void run_hears_out_of_time(struct alarm *alarm);
void run_hears_time_up(struct alarm *alarm);
void run_hears_pause_over(struct alarm *alarm);

/* Whether what happens now is what ends the command, and not one thing more while it ends or while
 * what it left is being ended. */
bool run_hears_as_cause(const struct run *run);

/* ---- run_command.c ---- */

bool run_command_open(struct run *run, struct error *err);
void run_command_start(struct run *run); /* with a guard, if one can be had */
int run_command_attempt(
    const struct run *run); /* from 1, those before it was taken over included */
void run_command_pause(struct run *run);
void run_command_end(struct run *run, int number); /* number, KILL after the grace */
void run_command_end_lost(struct run *run);
