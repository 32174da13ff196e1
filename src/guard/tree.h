/* SPDX-License-Identifier: ISC */
/* The processes below this one. This process is a subreaper: whatever its descendants do (fork
 * twice, setsid), an orphan among them becomes its child, so "no child left" means the whole tree
 * is gone. Used by the guard, and by leaserun when the guard was killed.
 *
 * A spared pid is a child that is left alone, with everything below it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes this process the one that orphans below it come to (prctl(2)). */
bool tree_adopt_orphans(void);

/* Sends a signal to every descendant that has not had this signal from this struct yet, each once
 * (a struct tree_signalled remembers pids with their start times). A stopped one is continued, so
 * that it can act on it. */
struct tree_signalled {
    struct tree_seen {
        pid_t pid;
        int64_t start_ticks;
    } * seen;
    size_t count;
};
void tree_signal(struct tree_signalled *signalled, int number, const pid_t *spared,
                 size_t spared_count);
/* Remembers the members of a process group that had the signal with kill(2). */
void tree_note_group(struct tree_signalled *signalled, pid_t group);
void tree_signalled_done(struct tree_signalled *signalled);

/* Kills every descendant but the spared ones; call again after each reaping until nothing is
 * left, since what forks while it is looked for is only found the next time. */
void tree_kill(const pid_t *spared, size_t spared_count);

/* Reaps what has ended, but never a spared pid. True when no child is left but spared ones. */
bool tree_reap(const pid_t *spared, size_t spared_count);

/* Lists the children of this process, ended ones too. The caller frees. */
size_t tree_children(pid_t **ret_pids);

/* Up to room bytes of "name (pid N), name (pid N)"; returns how many live processes there are in
 * all. */
size_t tree_describe(char *ret_text, size_t room, const pid_t *spared, size_t spared_count);
