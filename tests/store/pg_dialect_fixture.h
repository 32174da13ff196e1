/* SPDX-License-Identifier: ISC */
/* A table of another program, a store on it, and that program beside it: the person with psql sends
 * what ShedLock documents. */
#pragma once
#include "pg_fixture.h"

#define NOWHERE "no schema of that name" /* as ours: the dialect alone */

/* A store of a dialect on a table in the fixture's schema. schema: ours, NULL for the fixture's;
 * parameters: of the URL, NULL for none. */
struct pg_client *open_dialect(struct pg_fixture *fixture, const char *schema,
                               enum store_dialect dialect, const char *table,
                               const char *parameters);

/* Teardown of a case: closes what it opened. */
int close_dialects(void **state);

void make_shedlock(struct pg_fixture *fixture, const char *table);
/* holder, instant: types of columns. With a CHECK that the end lies after the beginning. */
void make_fenceless(struct pg_fixture *fixture, const char *table, const char *holder,
                    const char *instant);

/* The foreign program: whether it gets the lock, for a minute. */
bool shedlock_locks(struct pg_fixture *fixture, const char *table, const char *key);
void shedlock_unlocks(struct pg_fixture *fixture, const char *table, const char *key);
