/* SPDX-License-Identifier: ISC */
#include "guard/processes.h"

#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads a file of /proc whole; its length, or -1. The caller frees. */
static ssize_t read_whole(const char *path, char **ret_text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t room = 1024, length = 0;
    char *text = mem_alloc(room);
    for (ssize_t got; (got = read(fd, text + length, room - length - 1)) > 0;) {
        length += (size_t)got;
        if (room - length < 2)
            text = mem_grow(text, room *= 2, 1);
    }
    text[length] = '\0';
    close(fd);
    *ret_text = text;
    return (ssize_t)length;
}

static void copy_name(char *ret_name, size_t room, const char *from, size_t length)
{
    size_t used = length < room - 1 ? length : room - 1;
    for (size_t i = 0; i < used; i++)
        ret_name[i] = from[i] > ' ' && from[i] <= '~' ? from[i] : '?';
    ret_name[used] = '\0';
}

/* "12 (name) S 1 12 12 ...": the name may hold blanks and brackets, its last bracket ends it. */
static bool parse_stat(const char *line, struct process *ret_process)
{
    const char *open_at = strchr(line, '(');
    const char *close_at = strrchr(line, ')');
    int parent, group;
    unsigned long long start;
    if (open_at == NULL || close_at == NULL || close_at < open_at)
        return false;
    if (sscanf(close_at + 1,
               " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &ret_process->state, &parent, &group, &start) != 4)
        return false;
    ret_process->parent = parent;
    ret_process->group = group;
    ret_process->start_ticks = (int64_t)start;
    copy_name(ret_process->name, sizeof ret_process->name, open_at + 1,
              (size_t)(close_at - open_at - 1));
    return true;
}

bool process_read(const char *proc, pid_t pid, struct process *ret_process)
{
    char path[PATH_MAX];
    MEM_AUTOFREE char *line = NULL;
    snprintf(path, sizeof path, "%s/%d/stat", proc, (int)pid);
    ret_process->pid = pid;
    return read_whole(path, &line) > 0 && parse_stat(line, ret_process);
}

static void push(struct processes *processes, const struct process *process)
{
    size_t count = processes->count;
    if ((count & (count - 1)) == 0) /* full at each power of two */
        processes->rows =
            mem_grow(processes->rows, count == 0 ? 1 : count * 2, sizeof *processes->rows);
    processes->rows[processes->count++] = *process;
}

static bool is_among(pid_t pid, const pid_t *pids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

static pid_t parse_pid(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    return end != text && *end == '\0' && value > 0 && value <= INT_MAX ? (pid_t)value : 0;
}

static bool has_row(const struct processes *processes, pid_t pid)
{
    for (size_t i = 0; i < processes->count; i++)
        if (processes->rows[i].pid == pid)
            return true;
    return false;
}

/* Adds the children that one thread has started. */
static void add_listed(struct processes *below, const char *proc, const char *path,
                       const pid_t *spared, size_t spared_count)
{
    MEM_AUTOFREE char *text = NULL;
    char *rest = NULL;
    struct process process;
    if (read_whole(path, &text) <= 0)
        return;
    for (char *word = strtok_r(text, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        pid_t pid = parse_pid(word);
        if (pid > 0 && !is_among(pid, spared, spared_count) && !has_row(below, pid) &&
            process_read(proc, pid, &process))
            push(below, &process);
    }
}

static void add_children(struct processes *below, const char *proc, pid_t parent,
                         const pid_t *spared, size_t spared_count)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%d/task", proc, (int)parent);
    DIR *threads = opendir(path);
    if (threads == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        pid_t thread = parse_pid(entry->d_name);
        if (thread == 0)
            continue;
        snprintf(path, sizeof path, "%s/%d/task/%d/children", proc, (int)parent, (int)thread);
        add_listed(below, proc, path, spared, spared_count);
    }
    closedir(threads);
}

static bool has_lists(const char *proc, pid_t top)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%d/task/%d/children", proc, (int)top, (int)top);
    return access(path, R_OK) == 0;
}

static void read_all(struct processes *ret_all, const char *proc)
{
    struct process process;
    DIR *folder = opendir(proc);
    if (folder == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        pid_t pid = parse_pid(entry->d_name);
        if (pid > 0 && process_read(proc, pid, &process))
            push(ret_all, &process);
    }
    closedir(folder);
}

/* Takes out of *all the children of parent, and adds them. */
static void take_children(struct processes *below, struct processes *all, pid_t parent,
                          const pid_t *spared, size_t spared_count)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        struct process *process = &all->rows[i];
        if (process->parent == parent && !is_among(process->pid, spared, spared_count))
            push(below, process);
        else
            all->rows[kept++] = *process;
    }
    all->count = kept;
}

void processes_below(struct processes *ret_below, const char *proc, pid_t top, const pid_t *spared,
                     size_t spared_count, bool is_thorough)
{
    struct processes all = {NULL, 0};
    bool by_lists = !is_thorough && has_lists(proc, top);
    if (!by_lists)
        read_all(&all, proc);
    *ret_below = (struct processes){NULL, 0};
    pid_t parent = top;
    for (size_t next = 0;; parent = ret_below->rows[next++].pid) {
        if (by_lists)
            add_children(ret_below, proc, parent, spared, spared_count);
        else
            take_children(ret_below, &all, parent, spared, spared_count);
        if (next == ret_below->count)
            break;
    }
    processes_done(&all);
}

void processes_done(struct processes *processes)
{
    free(processes->rows);
    *processes = (struct processes){NULL, 0};
}
