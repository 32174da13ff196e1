/* SPDX-License-Identifier: ISC */
/* A file of ours, read whole: only a regular file (a folder would read as an empty one, a FIFO
 * would hang), with every read error told, and with the rights that decide whether to trust it. */
#pragma once
#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <sys/types.h>

#define INI_FILE_MAX (64 << 20) /* bytes: more than any table of jobs has */

struct ini_file {
    bool is_missing;
    mode_t mode;
};

/* Sentences do not name the path. Refuses for root a file that group or others may write: what it
 * says would be run as root. */
bool ini_file_read(const char *path, struct text *ret_bytes, struct ini_file *ret_file,
                   struct error *err);
