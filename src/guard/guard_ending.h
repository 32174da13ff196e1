/* SPDX-License-Identifier: ISC */
/* How the guard ends a tree: asked by SIGTERM, each process once; or killed, again and again
 * until nothing is left. */
#pragma once
#include "guard/tree.h"

#include <stdbool.h>
#include <stdint.h>

struct guard_ending {
    pid_t group; /* the command's, only while its leader is not reaped: then the number may become
                    another's; 0 else */
    bool is_group_told; /* the group has had SIGTERM */
    bool is_killing;
    int64_t sweep_step_ms;
    struct tree_signalled told; /* who has had SIGTERM */
};

/* Sends a signal to the command's group, if there is one, and continues it. */
void guard_ending_signal_group(struct guard_ending *ending, int number);

/* SIGTERM to the group and to all else of the tree, to each once however often this is called. */
void guard_ending_term(struct guard_ending *ending);

/* SIGKILL to all of the tree that is found now. Returns after how many milliseconds to look
 * again, when nothing has ended meanwhile. */
int64_t guard_ending_kill(struct guard_ending *ending);

void guard_ending_done(struct guard_ending *ending);
