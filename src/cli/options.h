/* SPDX-License-Identifier: ISC */
/* What was typed: argv to values, by the rows of conf/settings.c and of the command's own options.
 *
 * 1. options_parse: argv alone, no file and no environment; every value is checked.
 * 2. options_settle or options_settle_table: leaserun.ini, and over it what was typed.
 * 3. options_done. */
#pragma once
#include "base/error.h"
#include "base/fds.h"
#include "conf/config.h"
#include "conf/job_table.h"
#include "conf/settings.h"
#include "conf/store_url.h"
#include "loop/signals.h"

#include <stdbool.h>
#include <stdint.h>

struct cli_command;

struct options {
    const struct cli_command *command; /* NULL: only --version or --help was typed */
    struct config config;              /* complete after options_settle */

    char **operands; /* KEY, FILE...; points into argv */
    int operand_count;
    char **argv; /* run: the command behind "--", ends with NULL; points into argv; NULL: a job */
    bool is_help_wanted, is_version_wanted;

    /* of single commands */
    bool is_dry_run;      /* run */
    char *slot;           /* run JOB; NULL: none */
    bool is_json;         /* status, history, next, check --live */
    int64_t max_age_ms;   /* status; 0: not asked */
    int64_t limit_count;  /* history */
    bool is_slots;        /* history */
    bool is_output_tail;  /* history */
    bool is_stop;         /* release */
    int64_t store_fd;     /* release, for the guard; -1: not given */
    char *holder;         /* release, for the guard */
    char *unstarted;      /* release, for the guard: the run to undo */
    int64_t retention_ms; /* purge */
    char *forget_key;     /* purge */
    bool is_print_sql;    /* init */
    bool is_init;         /* schedule */
    bool is_connect;
    bool is_live;        /* check */
    char *schedule;      /* next */
    char *timezone;      /* next, import; NULL: the host's */
    char *from;          /* next; NULL: now */
    int64_t slot_count;  /* next; 0: not given */
    int format;          /* import: an enum crontab_format */
    bool is_user_column; /* import */
    char *mdoc;          /* help */
    bool is_sample;      /* help */

    /* what was typed, in order, for options_settle */
    struct option_given {
        const struct setting *setting;
        const char *value;
    } * given;
    size_t given_count;
};

/* Everything a command gets to see. For run: job is what to run, options.argv the command, if one
 * was typed; store the resolved store; config_open_log(&options.config) the log. */
struct invocation {
    struct options options;
    struct job job;               /* of run; its texts are options.config's or the table's */
    struct job_table table;       /* of which job is, for run without a command */
    struct fds given;             /* descriptors that belong to the command */
    struct signals_given signals; /* how we were started */
    char **environment;           /* leaserun's own, LEASERUN_STORE included */
    struct store_config store;    /* for commands that use one (commands.c: uses_store) */
};

bool options_parse(int argc, char **argv, struct options *ret_options, struct error *err);
bool options_settle(struct options *options, struct ini_faults *faults);

/* In place of options_settle, with the job table of leaserun.ini and of the files that the operands
 * name; without an operand, of jobs.d. */
bool options_settle_table(struct options *options, struct job_table *ret_table,
                          struct ini_faults *faults);

/* The same with job_table_examine. */
bool options_examine_table(struct options *options, struct job_table *ret_table,
                           struct ini_faults *faults);

/* The same with the job table of leaserun.ini and jobs.d, whatever the operands are. */
bool options_settle_own_table(struct options *options, struct job_table *ret_table,
                              struct ini_faults *faults);

/* Over a job of the table the options of a run that were typed. *job is the caller's copy, whose
 * texts stay the table's. */
void options_put_job(const struct options *options, struct job *job);

void options_done(struct options *options);
