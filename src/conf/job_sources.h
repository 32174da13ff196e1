/* SPDX-License-Identifier: ISC */
/* The files of which a job table is made, found and read. Inside conf/ only. */
#pragma once
#include "conf/ini_text.h"

#include <stdbool.h>
#include <stddef.h>

struct job_source {
    char *path;
    size_t file;          /* its number in the faults */
    struct ini_text text; /* without sections where the file is missing and may be */
    bool is_settings_only;
};

struct job_sources {
    struct job_source *sources; /* leaserun.ini first */
    size_t count;
    char **folders; /* that were listed, there or not */
    size_t folder_count;
};

/* As job_table_read says. What cannot be read is added to *faults, and the rest is read. */
void job_sources_read(struct job_sources *sources, const char *main_path, bool must_exist,
                      char *const *paths, size_t path_count, struct ini_faults *faults);
void job_sources_done(struct job_sources *sources);
