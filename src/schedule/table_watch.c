/* SPDX-License-Identifier: ISC */
#include "schedule/table_watch.h"

#include "base/list.h"
#include "base/mem.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* On the heap: it outlives its watch until libuv has closed it. */
struct table_watch_folder {
    uv_fs_event_t event;
    char *path;
};

static void on_event(uv_fs_event_t *event, const char *name, int events, int status)
{
    struct table_watch *watch = event->data;
    alarm_set_in(&watch->quiet, TABLE_WATCH_QUIET_MS);
}

static void on_quiet(struct alarm *alarm)
{
    struct table_watch *watch = LIST_OBJECT(alarm, struct table_watch, quiet);
    watch->changed(watch);
}

static void on_folder_closed(uv_handle_t *handle)
{
    struct table_watch_folder *folder =
        LIST_OBJECT((uv_fs_event_t *)handle, struct table_watch_folder, event);
    free(folder->path);
    free(folder);
}

static bool has_folder(const struct table_watch *watch, const char *path)
{
    for (size_t i = 0; i < watch->count; i++)
        if (strcmp(watch->folders[i]->path, path) == 0)
            return true;
    return false;
}

static void add_folder(struct table_watch *watch, const char *path)
{
    if (watch->count == TABLE_WATCH_FOLDERS_MOST || has_folder(watch, path))
        return;
    struct table_watch_folder *folder = mem_alloc(sizeof *folder);
    folder->path = mem_strdup(path);
    uv_fs_event_init(watch->loop, &folder->event);
    folder->event.data = watch;
    if (uv_fs_event_start(&folder->event, on_event, path, 0) == 0)
        watch->folders[watch->count++] = folder;
    else
        uv_close((uv_handle_t *)&folder->event, on_folder_closed);
}

static void drop_folders(struct table_watch *watch)
{
    for (size_t i = 0; i < watch->count; i++)
        uv_close((uv_handle_t *)&watch->folders[i]->event, on_folder_closed);
    watch->count = 0;
}

void table_watch_init(struct table_watch *watch, uv_loop_t *loop, table_watch_cb changed)
{
    *watch = (struct table_watch){.loop = loop, .changed = changed};
    alarm_init(&watch->quiet, loop, on_quiet);
}

void table_watch_set(struct table_watch *watch, char *const *files, size_t count)
{
    drop_folders(watch);
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        if (stat(files[i], &status) == 0 && S_ISDIR(status.st_mode))
            add_folder(watch, files[i]);
        char *path = mem_strdup(files[i]);
        add_folder(watch, dirname(path));
        free(path);
    }
}

void table_watch_close(struct table_watch *watch, struct handles *handles)
{
    drop_folders(watch);
    alarm_close(&watch->quiet, handles);
}
