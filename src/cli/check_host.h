/* SPDX-License-Identifier: ISC */
/* What of a job table depends on this host and may be mended without touching the table: users,
 * groups, folders, env-files, shells. Asks the databases of users, which may take time. */
#pragma once
#include "conf/job_table.h"

/* Adds a fault for each job that could not be started here; for what stands in [defaults] one in
 * all. */
void check_host(const struct job_table *table, const struct job *defaults,
                struct ini_faults *faults);
