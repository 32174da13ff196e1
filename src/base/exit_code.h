/* SPDX-License-Identifier: ISC */
/* What leaserun itself exits with, where it is not the command's own status (sysexits(3), and
 * timeout(1) and env(1) for 124, 126 and 127). exit_codes[] is the one table: `help exit` and
 * the manual are made from it. */
#pragma once
#include "base/error.h"

enum exit_code {
    EXIT_OK = 0,
    EXIT_USAGE_ERROR = 64,
    EXIT_STORE = 69,
    EXIT_SYSTEM = 71,
    EXIT_OUTPUT = 74,
    EXIT_NOT_RUN = 75,
    EXIT_LOST = 76,
    EXIT_CONFIG = 78,
    EXIT_TIMED_OUT = 124,
    EXIT_CANNOT_RUN = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_SIGNAL_BASE = 128,
};

struct exit_code_row {
    const char *number; /* as shown: "75", "128+n" */
    const char *name;
    const char *meaning;
};

extern const struct exit_code_row exit_codes[]; /* ends with a row whose number is NULL */

enum exit_code exit_code_of_error(enum error_kind kind);
