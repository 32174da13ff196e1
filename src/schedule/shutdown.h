/* SPDX-License-Identifier: ISC */
/* The end of a scheduler. Nothing more is started and claims in flight are undone; commands get
 * TERM at once (or are waited for: on-shutdown), KILL two seconds before shutdown-grace is over,
 * and their releases what remains of it; so do hooks, less the time that the end itself takes. A
 * second signal hastens the end of both. */
#pragma once
#include "base/error.h"
#include "loop/alarm.h"

#include <stdbool.h>
#include <stdint.h>

struct scheduler;

struct shutdown {
    struct scheduler *scheduler;
    struct alarm alarm; /* the KILLs have come; then: no more time */
    int64_t end_boot_ms;
    int command_count; /* that ran when it began */
    bool is_begun, is_terminating, is_closing;
};

void shutdown_init(struct shutdown *shutdown, struct scheduler *scheduler, uv_loop_t *loop);

void shutdown_signal(struct shutdown *shutdown, int number);

/* The store cannot be used as it is: told, and then the end with EXIT_CONFIG. */
void shutdown_refused(struct shutdown *shutdown, const struct error *why);

/* A turn has ended, or all hooks have: was it the last? */
void shutdown_note_turn(struct shutdown *shutdown);

void shutdown_close(struct shutdown *shutdown, struct handles *handles);
