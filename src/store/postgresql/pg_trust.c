/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_trust.h"

#include "base/mem.h"
#include "base/now.h"
#include "store/postgresql/pg_quick.h"
#include "store/postgresql/pg_row.h"
#include "store/postgresql/pg_sql.h"
#include "store/postgresql/pg_state.h"

#include <stdlib.h>
#include <string.h>

#define VERSION_HOLDS_MS INT64_C(3600000)

/* The first relation of that name counts, whatever it is: a view before our table is a trap. */
static const char schema_sql[] =
    "SELECT found.name::!text AS name, found.kind, !current_schema()::!text AS first, #server "
    "FROM (VALUES (1)) AS one (n) LEFT JOIN LATERAL (SELECT path.name, c.relkind::!text AS kind "
    "FROM !unnest(!current_schemas(false)) WITH ORDINALITY AS path (name, n) "
    "JOIN !pg_namespace AS s ON s.nspname {=} path.name "
    "JOIN !pg_class AS c ON c.relnamespace {=} s.oid AND c.relname {=} 'leases' "
    "ORDER BY path.n LIMIT 1) AS found ON true";

void pg_trust_init(struct pg_trust *trust, const char *schema)
{
    bool is_found = strcmp(schema, PG_TRUST_SEARCH_PATH) == 0;
    *trust = (struct pg_trust){
        .schema = is_found ? NULL : mem_strdup(schema),
        .version_holds_boot_ms = INT64_MIN,
    };
}

void pg_trust_done(struct pg_trust *trust)
{
    free(trust->schema);
    trust->schema = NULL;
}

/* What was begun is ended whatever the version. INIT and INSPECT judge by themselves. */
static bool needs_version(const struct pg_task *task)
{
    switch (task->request->kind) {
    case STORE_CLAIM:
        return !pg_quick_fits_claim(task);
    case STORE_REVOKE:
    case STORE_STATUS:
    case STORE_HISTORY:
    case STORE_RECALL:
    case STORE_PURGE:
    case STORE_FORGET:
        return true;
    case STORE_RENEW:
    case STORE_RELEASE:
    case STORE_UNDO:
    case STORE_FREE:
    case STORE_INIT:
    case STORE_INSPECT:
    case STORE_KIND_COUNT:
        break;
    }
    return false;
}

enum pg_trust_question pg_trust_next(const struct pg_trust *trust, const struct pg_task *task)
{
    if (trust->schema == NULL)
        return PG_TRUST_SCHEMA;
    bool is_known = now_boot_ms() < trust->version_holds_boot_ms;
    return is_known || task == NULL || !needs_version(task) ? PG_TRUST_NOTHING : PG_TRUST_VERSION;
}

void pg_trust_build(const struct pg_trust *trust, enum pg_trust_question question,
                    struct pg_statement *statement)
{
    bool is_schema = question == PG_TRUST_SCHEMA;
    statement->sql = pg_sql_expand(is_schema ? schema_sql : pg_state_version_sql,
                                   is_schema ? "" : trust->schema);
}

static bool read_schema(struct pg_trust *trust, const PGresult *result, char **ret_note,
                        struct error *err)
{
    const char *name = pg_row_text(result, 0, "name");
    const char *kind = pg_row_text(result, 0, "kind");
    const char *first = pg_row_text(result, 0, "first");
    if (name[0] != '\0' && kind[0] != 'r' && kind[0] != 'p')
        return error_set(err, ERROR_CONFIG,
                         "the first \"leases\" on the search path, in the schema \"%s\", is no "
                         "table (relkind %s): name leaserun's schema with --schema",
                         name, kind);
    if (name[0] == '\0' && first[0] == '\0')
        return error_set(err, ERROR_CONFIG,
                         "no schema on the search path exists: name leaserun's with --schema");
    trust->schema = mem_strdup(name[0] != '\0' ? name : first);
    *ret_note = mem_printf("the schema \"%s\" was found on the search path: whoever may create a "
                           "schema that comes earlier there can lead leaserun to another; name it "
                           "(schema = %s) to be safe",
                           trust->schema, trust->schema);
    return true;
}

bool pg_trust_read(struct pg_trust *trust, enum pg_trust_question question, const PGresult *result,
                   char **ret_note, struct error *err)
{
    *ret_note = NULL;
    if (question == PG_TRUST_SCHEMA)
        return read_schema(trust, result, ret_note, err);
    if (!pg_state_is_readable(result, trust->schema, err))
        return false;
    pg_trust_confirm(trust);
    return true;
}

void pg_trust_confirm(struct pg_trust *trust)
{
    trust->version_holds_boot_ms = now_boot_ms() + VERSION_HOLDS_MS;
}
