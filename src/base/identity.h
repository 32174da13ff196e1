/* SPDX-License-Identifier: ISC */
/* Who we are in a lease row. A holder is "host/pid/nonce" with a new nonce for every run: two
 * containers of one name and pid 1 are two holders, and no holder is ever the same process twice.
 */
#pragma once
#include "base/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDENTITY_HOLDER_MAX 192 /* bytes, NUL included */
#define IDENTITY_RUN_ID_MAX 40

/* The host's name, cut at 64 bytes; bytes outside printable ASCII and '/' become '_'. */
void identity_host(char *ret_host, size_t room);

/* A new holder of this process. */
void identity_holder(char ret_holder[IDENTITY_HOLDER_MAX]);

/* A new run id, as long as a nonce: 11 digits tell the time, to the microsecond, and 15 are random
 * (75 bits). Later ones sort after earlier ones, byte by byte, so that a store's index of runs
 * grows at its end; a clock that is stepped back only makes them sort wrongly. */
void identity_run_id(char ret_run_id[IDENTITY_RUN_ID_MAX]);

/* This boot's id (/proc/sys/kernel/random/boot_id), "" where it cannot be read. */
void identity_boot_id(char *ret_boot_id, size_t room);

/* The inode of /proc/self/ns/NAME ("pid", "time"): processes with another one have pids or
 * clocks that say nothing here. 0 where the kernel has no such namespace. */
uint64_t identity_namespace(const char *name);

/* Whether /proc shows the processes of our pid namespace. One of another namespace would answer
 * about other processes of the same numbers. */
bool identity_proc_is_ours(void);

/* When a process was started, in clock ticks since boot (proc(5), stat field 22): with the pid
 * it names a process for good. -1 when there is no such process, or it is a zombie. */
int64_t identity_start_ticks(int64_t pid);
