/* SPDX-License-Identifier: ISC */
/* check --live: what the store knows of the jobs of a table, and of keys that none of them has. */
#pragma once
#include "conf/job_table.h"
#include "conf/store_url.h"

/* On stdout: for each job who holds its key now, its last slot and what became of it, and whether
 * another schedule has named that slot than this table's; then the other keys. Returns the exit
 * status: 0, whatever is found, or what belongs to a store that did not answer. */
int check_live(const struct store_config *store, struct job_table *table, bool is_json);
