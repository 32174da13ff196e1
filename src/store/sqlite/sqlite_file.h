/* SPDX-License-Identifier: ISC */
/* Where the file is, and whether it may be trusted with leases. */
#pragma once
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite_file {
    char *path;      /* absolute */
    char *folder;    /* the one that it lies in */
    bool is_default; /* the usual place: all missing folders are made, not only the last */
};

/* sqlite:PATH, relative to the working directory. An empty PATH is /var/lib/leaserun/leaserun.db
 * for root and leaserun/leaserun.db in XDG_STATE_HOME or else in ~/.local/state for others. Fails
 * (ERROR_CONFIG) when there is no HOME, or PATH names a folder. */
bool sqlite_file_resolve(const char *url, struct sqlite_file *ret_file, struct error *err);
void sqlite_file_done(struct sqlite_file *file);

/* Makes folder (0700) and file (0600) where they are missing, and refuses a folder or file that
 * another user owns or may write, a symbolic link that is another user's, and a file system that
 * other machines may see: their locks are not ours. May block: not for the loop. Must not be
 * called while this process has the file open. */
bool sqlite_file_prepare(const struct sqlite_file *file, enum store_failure *ret_failure,
                         struct error *err);

/* The name of a file system (statfs(2), f_type) that other machines or a program may serve; NULL
 * for any other. */
const char *sqlite_file_shared_system(uint32_t magic);
