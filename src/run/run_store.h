/* SPDX-License-Identifier: ISC */
/* A run's store, and what it tells outside of requests: an outage and its end are told once each,
 * and the end brings the next renewal at once. */
#pragma once
#include "run/run.h"

/* As store_open. */
bool run_store_open(struct run *run, struct store **ret_store, struct error *err);
