/* SPDX-License-Identifier: ISC */
/* The tables. They are created on first use, and never altered. */
#pragma once
#include "store/sqlite/sqlite_link.h"

#define SQLITE_SCHEMA_VERSION 1

/* Creates them in an empty file (is_created tells), and refuses a file of another program and one
 * whose schema this program is too old to read (FAILURE_SCHEMA). */
bool sqlite_schema_ensure(struct sqlite_link *link);
