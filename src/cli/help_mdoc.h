/* SPDX-License-Identifier: ISC */
/* Parts of the manual in mdoc(7), from the tables: "options", "settings", "commands", "events",
 * "exit-status". The pages in man/ include them. */
#pragma once
#include <stdbool.h>

/* False when there is no such part. */
bool help_mdoc_print(const char *part);
