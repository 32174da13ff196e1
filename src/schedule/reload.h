/* SPDX-License-Identifier: ISC */
/* Another table in place of the one in use: read in libuv's pool, taken whole or not at all. What
 * is known of a job's slots is kept while its schedule stays the same; commands that run go on,
 * with what the table said when they started. */
#pragma once
#include "conf/config.h"
#include "conf/ini_text.h"
#include "conf/job_table.h"
#include "loop/alarm.h"
#include "schedule/table_watch.h"

#include <stdbool.h>
#include <uv.h>

struct scheduler;

struct reload {
    struct scheduler *scheduler;
    uv_work_t work;
    struct config config;
    struct job_table table;
    struct ini_faults faults;
    bool is_read;    /* the answer of job_table_read */
    bool is_reading; /* in the pool */
    bool is_wanted;  /* again, when the present one has ended */
    bool is_closing;
    struct table_watch watch; /* [schedule] watch */
    uint64_t looks;           /* of the files, when they were read last (table_look.h) */
    void (*closed)(struct reload *reload);
};

void reload_init(struct reload *reload, struct scheduler *scheduler, uv_loop_t *loop);
void reload_begin(struct reload *reload);

/* As upkeep_close. */
void reload_close(struct reload *reload, struct handles *handles,
                  void (*closed)(struct reload *reload));
