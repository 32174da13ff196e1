/* SPDX-License-Identifier: ISC */
/* What became of a run, from the facts gathered on the way: the outcome and status that the store
 * keeps, and leaserun's own exit status. Pure. */
#pragma once
#include "base/error.h"
#include "store/store.h"

#include <stdbool.h>

struct run_facts {
    bool is_not_started;
    int not_started_exit; /* 126, 127 or 71 */
    bool has_exited;
    int wait_status;   /* as of waitpid(2), when has_exited */
    bool is_lost;      /* by a verdict, or out of time */
    bool is_timed_out; /* --timeout was the first cause to end it */
    bool is_stopped;   /* a stop signal to leaserun was */
    bool has_guard_died;
};

struct run_record {
    enum run_outcome outcome;
    int status; /* of the command: 0-255, 128 + signal; -1 when it never ran or is unknown */
    int exit_code;
};

struct run_record run_record_of(const struct run_facts *facts);
