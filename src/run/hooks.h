/* SPDX-License-Identifier: ISC */
/* The hooks of a process: so many run at once, others wait in order, and each tells its end. No run
 * waits for one. */
#pragma once
#include "run/hook.h"

#define HOOKS_RUNNING_MOST 8
#define HOOKS_WAITING_MOST 256 /* one more is told as failed, and is not run */

struct hooks {
    struct hook_place place;
    struct list waiting, running;
    int waiting_count, running_count;
    int64_t end_boot_ms;       /* none runs longer; INT64_MAX: there is no end yet */
    void (*idle)(void *owner); /* the last has ended, or cannot be run; from the loop */
    void *owner;
};

/* Everything is borrowed and lives as long. */
void hooks_init(struct hooks *hooks, uv_loop_t *loop, struct log *log, char *const *environment,
                const struct signals_given *signals, void (*idle)(void *owner), void *owner);

/* Runs the hook of the facts as soon as there is a place; nothing where the job has none. */
void hooks_add(struct hooks *hooks, const struct hook_facts *facts);

bool hooks_are_idle(const struct hooks *hooks);

/* Those that run by then are ended, those that wait by then are not started. Repeated, it can only
 * bring the end nearer. */
void hooks_end_by(struct hooks *hooks, int64_t boot_ms);
