/* SPDX-License-Identifier: ISC */
/* Where the schedule of a crontab line ends and the command begins. For crontab.c alone. */
#pragma once
#include "base/error.h"

/* The schedule at *rest, with single blanks, and *rest moved behind it; the caller frees. NULL when
 * the line has no five fields. The schedule may still be one that cron_parse refuses. */
char *crontab_fields_of_cron(const char **rest);

/* The same for supercronic: seven fields (seconds and year), six (year), five, whichever fits
 * first, as supercronic tries them. Put in our words: a year of "*" goes, and a day field that
 * begins with a star but is restricted is spelled out, since supercronic then takes either day
 * field, not both. NULL with a sentence for years that cannot be said. */
char *crontab_fields_of_supercronic(const char **rest, struct error *err);
