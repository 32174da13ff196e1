/* SPDX-License-Identifier: ISC */
/* Which schema is ours, and whether this program may use it. A schema that is named is used as it
 * is; with "search-path" it is found once, and stays the same for the rest of the process. A schema
 * made for newer programs is refused by its oldest_reader, never by its version alone.
 *
 * The commonest claim looks at the version in its own statement (pg_quick.c). Before anything else
 * one question is sent, and its answer holds for an hour: a program that runs for weeks learns of a
 * migration. What was begun is ended whatever the version: renewals and releases ask nothing. */
#pragma once
#include "store/postgresql/pg_ops.h"

#include <libpq-fe.h>

#define PG_TRUST_SEARCH_PATH "search-path" /* as the name of a schema: it is to be found */

enum pg_trust_question {
    PG_TRUST_NOTHING, /* the task's statement may be sent */
    PG_TRUST_SCHEMA,
    PG_TRUST_VERSION,
};

struct pg_trust {
    char *schema; /* NULL: not found yet */
    int64_t version_holds_boot_ms;
};

void pg_trust_init(struct pg_trust *trust, const char *schema);
void pg_trust_done(struct pg_trust *trust);

/* What has to be asked before the task's next statement; NULL: one that is about no table of ours.
 */
enum pg_trust_question pg_trust_next(const struct pg_trust *trust, const struct pg_task *task);
void pg_trust_build(const struct pg_trust *trust, enum pg_trust_question question,
                    struct pg_statement *statement);

/* False, and err (ERROR_CONFIG), when the store must not be used. SCHEMA: ret_note is what a
 * person should know of it; the caller frees. */
bool pg_trust_read(struct pg_trust *trust, enum pg_trust_question question, const PGresult *result,
                   char **ret_note, struct error *err);

/* A statement that looked at the version itself has come through. */
void pg_trust_confirm(struct pg_trust *trust);
