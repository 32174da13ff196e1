/* SPDX-License-Identifier: ISC */
/* All that can be set, in one value: the defaults of settings.c, over them leaserun.ini, over that
 * the options. Whoever fills it does so in this order. */
#pragma once
#include "conf/ini_text.h"
#include "conf/job.h"
#include "log/log.h"

#include <stdbool.h>

#define CONFIG_PATH       "/etc/leaserun/leaserun.ini"
#define CONFIG_LEVEL_AUTO (-1)

/* [schedule]: of the scheduler as a whole. */
enum schedule_on_shutdown {
    SCHEDULE_ON_SHUTDOWN_TERMINATE, /* commands get TERM at once */
    SCHEDULE_ON_SHUTDOWN_WAIT,      /* as long as they take; a second signal ends them */
};

struct schedule_config {
    int64_t max_running;       /* commands at a time; 0: no limit */
    int64_t shutdown_grace_ms; /* from the signal to the exit */
    enum schedule_on_shutdown on_shutdown;
    bool is_watched; /* a table that changes is read again without being asked */
};

struct config {
    char *path;           /* --config; NULL: CONFIG_PATH, which may be missing */
    struct job job;       /* [defaults] and the options of run */
    char *store_option;   /* --store */
    bool is_local;        /* --local */
    char *store_url;      /* [store] url; a secret */
    char *store_url_file; /* [store] url-file */
    char *store_file;     /* that one of them stands in; NULL: neither was read */
    char *schema;
    int dialect; /* enum store_dialect */
    char *table, *columns;
    int log_level; /* enum level, or CONFIG_LEVEL_AUTO */
    enum log_format log_format;
    bool is_quiet;
    struct schedule_config schedule;
};

/* The struct that has the setting's member. */
struct setting;
void *config_object(struct config *config, const struct setting *setting);

/* Every setting at its default. config_done gives back what it owns, secrets wiped. */
void config_init(struct config *config);
void config_done(struct config *config);

/* For a command that was typed: what [defaults] says for the table alone, such as user and retries,
 * is as if it had not been said. */
void config_drop_table_settings(struct config *config);

/* Reads an ini file over what *config has, but for its jobs, which job_table.h reads. A fault of
 * the file, of a key or of a value is added to *faults with its line, all of them in one go, and
 * the answer is false. A missing file is a fault only when must_exist. */
bool config_read(struct config *config, const char *path, bool must_exist,
                 struct ini_faults *faults);

/* The log on stderr as configured: AUTO is warn and above, and info too on a terminal; --quiet is
 * error alone. */
struct log config_open_log(const struct config *config);
