/* SPDX-License-Identifier: ISC */
/* What a role needs that uses a schema it does not own: one table for the printed grants and for
 * the check. */
#pragma once
#include "base/text.h"
#include "store/postgresql/pg_facts.h"

#include <libpq-fe.h>

/* One statement for each object, as comments: for a role to be filled in. */
void pg_rights_add_grants(const char *schema, struct text *script);

/* One fault for each right that this role has not, on what is there. */
void pg_rights_find_faults(const PGresult *facts, const char *schema, pg_fault_cb found,
                           void *owner);
