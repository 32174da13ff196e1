/* SPDX-License-Identifier: ISC */
/* The functions of run/terminal.h without a terminal. Calls that change one stand in the journal.
 */
#pragma once
#include "run/terminal.h"

#include <stdint.h>

extern struct fake_terminal {
    bool exists;
    bool is_ours;       /* our group has the foreground */
    bool should_give;   /* the command is to get it */
    bool is_at_command; /* the command's has */
    bool is_gone;
    bool is_orphaned;   /* nobody could continue us */
    int64_t stopped_ms; /* how long a stop of ours lasts */
    int open_count;     /* opened and not closed */
} fake_terminal;
