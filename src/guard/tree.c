/* SPDX-License-Identifier: ISC */
#include "guard/tree.h"

#include "base/mem.h"
#include "guard/processes.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROC "/proc"

bool tree_adopt_orphans(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

/* A child keeps its number until we reap it. Anyone else's may have gone, and the number may be
 * another's: hold it by a pidfd and look again before the signal leaves. */
static void send_signal(const struct process *process, int number)
{
    if (process->parent == getpid()) {
        kill(process->pid, number);
        return;
    }
    struct process again;
    int fd = pidfd_open(process->pid, 0);
    if (fd < 0)
        return;
    if (process_read(PROC, process->pid, &again) && again.start_ticks == process->start_ticks)
        pidfd_send_signal(fd, number, NULL, 0);
    close(fd);
}

static bool note(struct tree_signalled *signalled, const struct process *process)
{
    for (size_t i = 0; i < signalled->count; i++)
        if (signalled->seen[i].pid == process->pid &&
            signalled->seen[i].start_ticks == process->start_ticks)
            return false;
    signalled->seen = mem_grow(signalled->seen, signalled->count + 1, sizeof *signalled->seen);
    signalled->seen[signalled->count++] =
        (struct tree_seen){.pid = process->pid, .start_ticks = process->start_ticks};
    return true;
}

void tree_signal(struct tree_signalled *signalled, int number, const pid_t *spared,
                 size_t spared_count)
{
    struct processes below;
    processes_below(&below, PROC, getpid(), spared, spared_count, false);
    for (size_t i = 0; i < below.count; i++) {
        if (!note(signalled, &below.rows[i]))
            continue;
        send_signal(&below.rows[i], number);
        if (below.rows[i].state == 'T')
            send_signal(&below.rows[i], SIGCONT);
    }
    processes_done(&below);
}

void tree_note_group(struct tree_signalled *signalled, pid_t group)
{
    struct processes below;
    processes_below(&below, PROC, getpid(), NULL, 0, false);
    for (size_t i = 0; i < below.count; i++)
        if (below.rows[i].group == group)
            note(signalled, &below.rows[i]);
    processes_done(&below);
}

void tree_signalled_done(struct tree_signalled *signalled)
{
    free(signalled->seen);
    *signalled = (struct tree_signalled){NULL, 0};
}

void tree_kill(const pid_t *spared, size_t spared_count)
{
    struct processes below;
    processes_below(&below, PROC, getpid(), spared, spared_count, false);
    for (size_t i = 0; i < below.count; i++)
        send_signal(&below.rows[i], SIGKILL);
    processes_done(&below);
}

static bool is_spared(pid_t pid, const pid_t *spared, size_t spared_count)
{
    for (size_t i = 0; i < spared_count; i++)
        if (spared[i] == pid)
            return true;
    return false;
}

/* A spared child that has ended stands in front of the others: ask for each by its number. */
static void reap_behind(const pid_t *spared, size_t spared_count)
{
    pid_t *children;
    size_t count = tree_children(&children);
    for (size_t i = 0; i < count; i++)
        if (!is_spared(children[i], spared, spared_count))
            waitpid(children[i], NULL, WNOHANG);
    free(children);
}

static bool has_only_spared(const pid_t *spared, size_t spared_count)
{
    pid_t *children;
    size_t count = tree_children(&children);
    size_t others = 0;
    for (size_t i = 0; i < count; i++)
        others += !is_spared(children[i], spared, spared_count);
    free(children);
    return others == 0;
}

bool tree_reap(const pid_t *spared, size_t spared_count)
{
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
            return errno == ECHILD;
        if (info.si_pid == 0)
            break;
        if (is_spared(info.si_pid, spared, spared_count)) {
            reap_behind(spared, spared_count);
            break;
        }
        waitpid(info.si_pid, NULL, WNOHANG);
    }
    return spared_count > 0 && has_only_spared(spared, spared_count);
}

size_t tree_children(pid_t **ret_pids)
{
    siginfo_t info;
    *ret_pids = NULL;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return 0; /* nothing to look for */
    struct processes below;
    processes_below(&below, PROC, getpid(), NULL, 0, true);
    size_t count = 0;
    *ret_pids = mem_array(below.count, sizeof **ret_pids);
    for (size_t i = 0; i < below.count; i++)
        if (below.rows[i].parent == getpid())
            (*ret_pids)[count++] = below.rows[i].pid;
    processes_done(&below);
    return count;
}

size_t tree_describe(char *ret_text, size_t room, const pid_t *spared, size_t spared_count)
{
    struct processes below;
    size_t used = 0, alive = 0;
    bool is_full = false;
    processes_below(&below, PROC, getpid(), spared, spared_count, false);
    ret_text[0] = '\0';
    for (size_t i = 0; i < below.count; i++) {
        char item[64];
        if (below.rows[i].state == 'Z')
            continue;
        alive++;
        int length = snprintf(item, sizeof item, "%s%s (pid %d)", used == 0 ? "" : ", ",
                              below.rows[i].name, (int)below.rows[i].pid);
        is_full = is_full || used + (size_t)length >= room;
        if (is_full)
            continue;
        memcpy(ret_text + used, item, (size_t)length + 1);
        used += (size_t)length;
    }
    processes_done(&below);
    return alive;
}
