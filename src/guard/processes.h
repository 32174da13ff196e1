/* SPDX-License-Identifier: ISC */
/* Which processes are below one, as /proc tells. A snapshot: what forks meanwhile is in the next.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid, parent, group;
    char state;          /* proc(5): 'Z' has ended and waits for its parent */
    int64_t start_ticks; /* with the pid it names a process for good */
    char name[32];       /* printable */
};

struct processes {
    struct process *rows;
    size_t count;
};

/* Lists what is below top; a spared process is left out with everything below it. proc is the
 * folder to read ("/proc"; tests have another). It reads the kernel's lists of children where
 * there are any, which costs in proportion to the tree and may miss a process while another
 * ends; is_thorough, or a kernel without such lists, reads every process instead. */
void processes_below(struct processes *ret_below, const char *proc, pid_t top, const pid_t *spared,
                     size_t spared_count, bool is_thorough);
void processes_done(struct processes *processes);

/* Reads one process. False when there is none. */
bool process_read(const char *proc, pid_t pid, struct process *ret_process);
