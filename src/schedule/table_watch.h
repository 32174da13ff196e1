/* SPDX-License-Identifier: ISC */
/* Told when a job table's files may have changed: edited, renamed over, or swapped by a symbolic
 * link as Kubernetes does with mounted files. The folders are watched, since a file that is
 * replaced is another file; a burst of changes is told once, when it has been quiet for a
 * moment. */
#pragma once
#include "loop/alarm.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#define TABLE_WATCH_FOLDERS_MOST 32
#define TABLE_WATCH_QUIET_MS     300

struct table_watch;
typedef void (*table_watch_cb)(struct table_watch *watch);

struct table_watch {
    uv_loop_t *loop;
    struct table_watch_folder *folders[TABLE_WATCH_FOLDERS_MOST];
    size_t count;
    struct alarm quiet;
    table_watch_cb changed;
};

void table_watch_init(struct table_watch *watch, uv_loop_t *loop, table_watch_cb changed);

/* Watches the folders of these files, and those of them that are folders, in place of what was
 * watched before; none: nothing. What cannot be watched is left out. */
void table_watch_set(struct table_watch *watch, char *const *files, size_t count);

void table_watch_close(struct table_watch *watch, struct handles *handles);
