/* SPDX-License-Identifier: ISC */
/* How statements are written. The search path decides nothing: every name and operator that the
 * server sees is qualified. To stay readable the sources use marks, expanded before sending:
 *
 *   @leases      "schema".leases                      a table, sequence or function of ours
 *   @@fence_seq  '"schema".fence_seq'::pg_catalog.regclass
 *   @            "schema", where no name follows
 *   !text        pg_catalog.text                      a function or type of the server's
 *   {=}          OPERATOR(pg_catalog.=); all of these bind equally, from left to right
 *   %name        a text that the caller gives: names that only the user knows, and what depends on
 *                the catalog; it is not expanded itself
 *   #us(t)       a timestamptz as microseconds since 1970
 *   #instant(us) the other way round
 *   #ms(i)       an interval as milliseconds, rounded up
 *   #span(ms)    the other way round
 *   #wake        of the row lease that is given back: tells those who wait for it
 *   #server      the columns server_us and timeline, which every reply carries
 *   #settings    a WITH item that bounds the wait for locks ($1, ms) and raises a weaker
 *                synchronous_commit, for this statement only: no session state, so that it works
 *                through a transaction pooler
 *
 * IN, BETWEEN, IS DISTINCT FROM, NULLIF, USING and CASE x WHEN look operators up unqualified and
 * are not used. */
#pragma once
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define PG_SQL_CHANNEL "leaserun" /* of the notifications; the payload is the key */

/* The caller frees. The schema is any name; it is quoted here. */
char *pg_sql_expand(const char *template, const char *schema);

struct pg_sql_name {
    const char *name, *text; /* the list ends with a name NULL */
};
char *pg_sql_expand_names(const char *template, const char *schema,
                          const struct pg_sql_name *names);

/* A name in double quotes. */
void pg_sql_add_identifier(struct text *out, const char *name);

/* Any bytes as the server reads a bytea. The caller frees. */
char *pg_sql_bytes(const char *bytes, size_t count);

/* An array parameter in text form: start with pg_array_begin, add, end. */
void pg_array_begin(struct text *array);
void pg_array_add_text(struct text *array, const char *value); /* NULL is NULL */
void pg_array_add_int64(struct text *array, int64_t value);    /* NO_INSTANT is NULL */
void pg_array_add_bytes(struct text *array, const char *bytes, size_t count); /* NULL is NULL */
void pg_array_end(struct text *array);
