/* SPDX-License-Identifier: ISC */
/* The job table: every [job NAME] of leaserun.ini and of the files beside it or named instead, each
 * a struct job over [defaults].
 *
 * A table is whole or not at all: whatever is wrong in whichever file is told in one go, with file
 * and line, and then there is no job. Whoever reloads reads a second table and gives the first one
 * back when the second is good. */
#pragma once
#include "conf/config.h"
#include "conf/ini_text.h"
#include "conf/job.h"
#include "conf/name_index.h"
#include "conf/string_pool.h"

#include <stdbool.h>
#include <stddef.h>

struct job_table {
    struct job *jobs; /* in the order of files and lines; also those that are not enabled */
    size_t count;
    char **files;      /* every file and folder that was looked into, there or not: what to watch */
    size_t file_count; /* their paths lie in strings */

    /* Text of all jobs, each once: two jobs with the same zone, command or key have the same
     * pointer. It is the table's and lives as long. */
    struct string_pool strings;
    struct name_index names;
};

/* Reads leaserun.ini at config->path (CONFIG_PATH when NULL, which may be missing) and
 *   without paths, every *.ini of the folder jobs.d beside it, by name in byte order;
 *   with paths, these files and every *.ini of these folders. Of leaserun.ini then only the
 *     settings count, and of these no section that a path's file has; its jobs are left out.
 * [store], [log], [schedule] and [defaults] may stand in any file, a key in one of them; they are
 * put into *config, which is as config_init left it but for path.
 *
 * False: at least one fault was added; *ret_table is empty, and *config good for config_done
 * alone. Blocks on the file system. */
bool job_table_read(struct config *config, char *const *paths, size_t path_count,
                    struct job_table *ret_table, struct ini_faults *faults);

/* The same for whoever only looks: the jobs of a faulty table are left in *ret_table, those that
 * have a fault of their own without schedule, so that more can be said of the others in one go. */
bool job_table_examine(struct config *config, char *const *paths, size_t path_count,
                       struct job_table *ret_table, struct ini_faults *faults);
void job_table_done(struct job_table *table);

/* NULL: there is no such job. */
const struct job *job_table_find(const struct job_table *table, const char *name);

/* What depends on the store that was chosen, for whoever schedules and for check: on a shared one
 * (any but SQLite) all schedulers must see the same calendar, so a calendar schedule without
 * timezone is a fault unless this host's zone is UTC. */
bool job_table_check_store(const struct job_table *table, bool is_shared,
                           struct ini_faults *faults);
