/* SPDX-License-Identifier: ISC */
#include "guard/guard_ending.h"

#include <signal.h>
#include <stddef.h>

#define SWEEP_FIRST_MS 5
#define SWEEP_MOST_MS  200 /* for one that cannot die (a dead disk): no need to look busily */

void guard_ending_signal_group(struct guard_ending *ending, int number)
{
    if (ending->group == 0)
        return;
    kill(-ending->group, number);
    if (number == SIGTERM) {
        ending->is_group_told = true;
        tree_note_group(&ending->told, ending->group);
    }
    kill(-ending->group, SIGCONT);
}

void guard_ending_term(struct guard_ending *ending)
{
    if (!ending->is_group_told)
        guard_ending_signal_group(ending, SIGTERM);
    tree_signal(&ending->told, SIGTERM, NULL, 0);
}

int64_t guard_ending_kill(struct guard_ending *ending)
{
    if (ending->group != 0)
        kill(-ending->group, SIGKILL); /* most of it, before /proc has been read */
    tree_kill(NULL, 0);
    ending->is_killing = true;
    int64_t step = ending->sweep_step_ms == 0 ? SWEEP_FIRST_MS : ending->sweep_step_ms * 2;
    ending->sweep_step_ms = step > SWEEP_MOST_MS ? SWEEP_MOST_MS : step;
    return ending->sweep_step_ms;
}

void guard_ending_done(struct guard_ending *ending)
{
    tree_signalled_done(&ending->told);
}
