/* SPDX-License-Identifier: ISC */
#include "schedule/table_look.h"

#include "base/mem.h"
#include "cron/cron_hash.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t look_at_file(const char *path, struct stat *ret_status)
{
    uint64_t hash = cron_hash_text(path);
    if (stat(path, ret_status) != 0) {
        ret_status->st_mode = 0;
        return hash;
    }
    hash = cron_hash_with(hash, ret_status->st_ino);
    hash = cron_hash_with(hash, (uint64_t)ret_status->st_size);
    hash = cron_hash_with(hash, (uint64_t)ret_status->st_mtim.tv_sec);
    return cron_hash_with(hash, (uint64_t)ret_status->st_mtim.tv_nsec);
}

static bool is_ini(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".ini") == 0;
}

/* A sum: the order in which a folder tells its files says nothing. */
static uint64_t look_into_folder(const char *path)
{
    uint64_t sum = 0;
    DIR *folder = opendir(path);
    if (folder == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct stat status;
        if (!is_ini(entry->d_name))
            continue;
        MEM_AUTOFREE char *file = mem_printf("%s/%s", path, entry->d_name);
        sum += look_at_file(file, &status);
    }
    closedir(folder);
    return sum;
}

uint64_t table_look(char *const *files, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        uint64_t hash = look_at_file(files[i], &status);
        if (S_ISDIR(status.st_mode))
            hash = look_into_folder(files[i]);
        sum += cron_hash_with(hash, i);
    }
    return sum;
}
