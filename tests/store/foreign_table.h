/* SPDX-License-Identifier: ISC */
/* The tables of other programs, made as they make them, by hand and blocking. */
#pragma once

/* The table of "fenceless", as the settings table and columns name it. */
#define FOREIGN_TABLE_NAME "\"Weird \"\"Table\"\" %s @leases\""
#define FOREIGN_TABLE_COLUMNS                                                                      \
    "key=\"Key, of = it\", holder=\"#holder!\", acquired_at=since, expires_at=\"order\""

/* A table for the dialect ("fenceless", "shedlock") in a schema that is made for it; what there was
 * of that schema is gone. Ends the program when the server does not do it. */
void foreign_table_create(const char *url, const char *schema, const char *dialect);
void foreign_table_drop(const char *url, const char *schema);
