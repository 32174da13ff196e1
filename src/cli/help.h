/* SPDX-License-Identifier: ISC */
/* Help from the tables, 80 columns, on stdout. Each returns the exit status. */
#pragma once
#include "base/text.h"
#include "cli/commands.h"

#include <stdio.h>

void help_print_usage(FILE *file);                 /* the short one */
int help_print(const struct cli_command *command); /* of one; NULL: of leaserun */
int help_print_version(void);

/* What `help events`, `help exit` and `help settings` print. */
int help_print_events(void);
int help_print_exit_codes(void);
int help_print_settings(void);

/* The sample leaserun.ini. */
int help_print_sample(void);
