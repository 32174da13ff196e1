/* SPDX-License-Identifier: ISC */
#include "conf/job_sources.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "jobs.d"
#define SUFFIX ".ini"

static struct job_source *add(struct job_sources *sources, char *path, bool must_exist,
                              struct ini_faults *faults)
{
    sources->sources = mem_grow(sources->sources, sources->count + 1, sizeof *sources->sources);
    struct job_source *source = &sources->sources[sources->count++];
    *source = (struct job_source){.path = path};
    ini_text_read(path, must_exist, &source->text, faults);
    source->file = faults->file;
    return source;
}

/* Not what an editor or a configmap keeps beside it. */
static int is_ini(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > strlen(SUFFIX) &&
           strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) == 0;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Who may put a file into the folder chooses what root runs, as who may write one does. */
static void check_folder(const char *path, struct ini_faults *faults)
{
    struct stat info;
    if (geteuid() != 0 || stat(path, &info) != 0 || (info.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return;
    ini_faults_begin_file(faults, path);
    ini_faults_add(faults, 0,
                   "the folder may be written by others than its owner, and root would do what its "
                   "files say: chmod go-w it");
}

/* Takes the path over. */
static void add_folder(struct job_sources *sources, char *path, bool must_exist,
                       struct ini_faults *faults)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_ini, compare_names);
    bool is_missing = count < 0 && (errno == ENOENT || errno == ENOTDIR);
    if (count < 0 && (must_exist || !is_missing)) {
        const char *why = strerror(errno);
        ini_faults_begin_file(faults, path);
        ini_faults_add(faults, 0, "the folder cannot be read: %s", why);
    }
    check_folder(path, faults);
    for (int i = 0; i < count; i++) {
        add(sources, mem_printf("%s/%s", path, entries[i]->d_name), true, faults);
        free(entries[i]);
    }
    free(entries);
    sources->folders = mem_grow(sources->folders, sources->folder_count + 1, sizeof(char *));
    sources->folders[sources->folder_count++] = path;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static char *folder_beside(const char *main_path)
{
    const char *slash = strrchr(main_path, '/');
    int length = slash == NULL ? 0 : (int)(slash - main_path) + 1;
    return mem_printf("%.*s" FOLDER, length, main_path);
}

void job_sources_read(struct job_sources *sources, const char *main_path, bool must_exist,
                      char *const *paths, size_t path_count, struct ini_faults *faults)
{
    *sources = (struct job_sources){0};
    struct job_source *main_source = add(sources, mem_strdup(main_path), must_exist, faults);
    main_source->is_settings_only = path_count > 0;
    for (size_t i = 0; i < path_count; i++)
        if (is_folder(paths[i]))
            add_folder(sources, mem_strdup(paths[i]), true, faults);
        else
            add(sources, mem_strdup(paths[i]), true, faults);
    if (path_count == 0)
        add_folder(sources, folder_beside(main_path), false, faults);
}

void job_sources_done(struct job_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        free(sources->sources[i].path);
        ini_text_done(&sources->sources[i].text);
    }
    for (size_t i = 0; i < sources->folder_count; i++)
        free(sources->folders[i]);
    free(sources->sources);
    free(sources->folders);
    *sources = (struct job_sources){0};
}
