/* SPDX-License-Identifier: ISC */
/* Ctrl-C while the command has the terminal. Without leaserun the whole foreground group gets the
 * signal, a script around the command among it; so leaserun passes it on to its own group when the
 * command has ended by it, and ends by it too, since a shell goes on with a script whose command
 * has exited, even with 130. */
#pragma once
#include "run/run.h"

/* The command has ended: a stop that came from the terminal counts as one that came to leaserun. */
void run_interrupt_note(struct run *run);

/* After the run has ended, with everything given back: ends this process by SIGINT or SIGQUIT when
 * the terminal's signal ended the run. Returns when there is nothing to repeat. */
void run_interrupt_repeat(const struct run *run);
