/* SPDX-License-Identifier: ISC */
/* A crontab's lines as the job table of a leaserun.ini. Every line is accounted for: what cannot
 * be said stands there as a comment with its file and line. */
#pragma once
#include "base/text.h"
#include "conf/ini_faults.h"
#include "conf/name_index.h"
#include "cron/crontab.h"

struct import_variable {
    char *name, *value;
};

struct import {
    enum crontab_format format;
    bool has_user_column;
    const char *file;     /* as it is called in comments; borrowed */
    const char *timezone; /* of jobs to which the file gives none; NULL: say none; borrowed */
    struct text out;
    struct ini_faults faults; /* lines that could not be said */
    int line;

    struct import_variable *variables; /* as they stand at this line */
    size_t variable_count;
    bool is_zone_bad; /* of the last CRON_TZ */
    char **names;     /* of the jobs so far */
    size_t job_count;
    struct name_index name_index;
};

/* The struct is zeroed but for what the caller chooses. All of a file, which may lack its last
 * newline; the table is in out. */
void import_file(struct import *import, const char *bytes, size_t count);
void import_done(struct import *import);
