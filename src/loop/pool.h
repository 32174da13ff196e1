/* SPDX-License-Identifier: ISC */
/* libuv's threads, for what blocks: SQLite's calls, name look-ups. libuv makes all of them at their
 * first use and aborts when it cannot, under a limit on processes (ulimit -u, a cgroup's pids.max)
 * or on memory; so this is asked before. */
#pragma once
#include "base/error.h"

#include <stdbool.h>

/* Settles how many there are at least, and tries whether the system has room for them. Fails
 * (ERROR_SYSTEM) when it has not; then nothing may be given to libuv's threads, and it may be asked
 * again. After the first success it answers true. */
bool pool_prepare(int thread_count, struct error *err);
