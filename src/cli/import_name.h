/* SPDX-License-Identifier: ISC */
/* Names for jobs that had none: what a command runs, in small letters, digits and dashes. */
#pragma once

#define IMPORT_NAME_MAX 40 /* with the NUL; leaves room for a number within INI_WORD_MAX */

/* "report" of "cd /srv && /usr/local/bin/report.sh --all"; "job" when nothing better is there. */
const char *import_name_of(const char *command, char ret_name[IMPORT_NAME_MAX]);
