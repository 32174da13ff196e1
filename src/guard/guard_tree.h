/* SPDX-License-Identifier: ISC */
/* The guard and the tree: starting it, seeing how it ends, ending it when an instant has come. */
#pragma once
#include "guard/guard_state.h"

/* Forks the command; the outcome is told later. Where that fails, or the deadline has passed
 * already, it is told now. */
void guard_tree_start(struct guard *guard, const struct guard_message *start);

/* True from the fork until GUARD_EMPTY. */
bool guard_tree_exists(const struct guard *guard);

/* SIGKILL now, and again until nothing is left. Without a tree it does nothing. */
void guard_tree_kill(struct guard *guard, enum guard_killer killer);

/* Who ended the command: the first to say so. */
void guard_tree_blame(struct guard *guard, enum guard_killer killer);

/* Does what the instants that have passed ask for. */
void guard_tree_do_due(struct guard *guard);

/* fault_fd is readable: the child has become the command, or says why not. */
void guard_tree_on_fault(struct guard *guard);

/* child_fd is readable. */
void guard_tree_on_children(struct guard *guard);
