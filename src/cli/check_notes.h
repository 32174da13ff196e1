/* SPDX-License-Identifier: ISC */
/* What is worth knowing of a job table that has no fault. */
#pragma once
#include "conf/job_table.h"

/* On stdout: of each job how long an outage of the store it survives, warnings of schedules that
 * may not mean what they say, jobs that share a key, and, where a job is expected, that there is
 * none. */
void check_notes_print(const struct job_table *table, bool is_expected);
