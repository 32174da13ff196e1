/* SPDX-License-Identifier: ISC */
#include "command/guards.h"

#include "base/mem.h"
#include "guard/tree.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct {
    bool has_begun;
    pid_t *all; /* first the owned guards, then the parting ones, then the inherited children */
    size_t owned_count, parting_count, inherited_count;
} guards;

static size_t all_count(void)
{
    return guards.owned_count + guards.parting_count + guards.inherited_count;
}

void guards_begin(void)
{
    if (guards.has_begun)
        return;
    guards.has_begun = true;
    tree_adopt_orphans();
    guards.inherited_count = tree_children(&guards.all);
}

static void insert(size_t at, pid_t pid)
{
    size_t count = all_count();
    guards.all = mem_grow(guards.all, count + 1, sizeof *guards.all);
    memmove(guards.all + at + 1, guards.all + at, (count - at) * sizeof *guards.all);
    guards.all[at] = pid;
}

/* True when the pid was among those of [from, from + *count). */
static bool take_out(size_t from, size_t *count, pid_t pid)
{
    for (size_t i = from; i < from + *count; i++) {
        if (guards.all[i] != pid)
            continue;
        size_t last = all_count() - 1;
        memmove(guards.all + i, guards.all + i + 1, (last - i) * sizeof *guards.all);
        --*count;
        return true;
    }
    return false;
}

void guards_add(pid_t guard)
{
    insert(0, guard);
    guards.owned_count++;
}

void guards_remove(pid_t guard, bool is_reaped)
{
    if (!take_out(0, &guards.owned_count, guard) || is_reaped)
        return;
    insert(guards.owned_count, guard);
    guards.parting_count++;
    guards_reap_strangers(); /* it may have ended before this */
}

/* The number of a reaped child may become anyone's. */
static void forget_reaped(void)
{
    for (size_t i = all_count(); i-- > guards.owned_count;) {
        siginfo_t info;
        pid_t pid = guards.all[i];
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 &&
            !take_out(guards.owned_count, &guards.parting_count, pid))
            take_out(guards.owned_count + guards.parting_count, &guards.inherited_count, pid);
    }
}

void guards_reap_strangers(void)
{
    tree_reap(guards.all, guards.owned_count);
    forget_reaped();
}

bool guards_sweep(void)
{
    tree_kill(guards.all, all_count());
    return tree_reap(guards.all, all_count());
}
