/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_state.h"

#include "store/postgresql/pg_row.h"
#include "store/postgresql/pg_schema.h"

#include <inttypes.h>

#define VERSION                                                                                    \
    "SELECT (SELECT !max(v.version) FROM @schema_version AS v) AS version, "                       \
    "(SELECT !max(v.oldest_reader) FROM @schema_version AS v) AS oldest_reader, "

const char pg_state_version_sql[] = VERSION "#server";

const char pg_state_sql[] =
    VERSION "COALESCE(!pg_sequence_last_value(@@fence_seq), 0) AS last_fence, "
            "COALESCE(GREATEST((SELECT !max(l.fence) FROM @leases AS l), "
            "(SELECT !max(r.fence) FROM @runs AS r), (SELECT !max(f.fence) FROM @fences AS f)), 0) "
            "AS highest_fence, #server";

bool pg_state_is_readable(const PGresult *result, const char *schema, struct error *err)
{
    int64_t oldest_reader = pg_row_int64(result, 0, "oldest_reader", 0);
    if (oldest_reader <= PG_SCHEMA_VERSION)
        return true;
    return error_set(err, ERROR_CONFIG,
                     "the schema \"%s\" is for newer programs (its oldest reader is version "
                     "%" PRId64 ", this one is %d): install a newer leaserun",
                     schema, oldest_reader, PG_SCHEMA_VERSION);
}

static void check_version(const PGresult *result, const char *schema, struct error *ret_fault)
{
    if (pg_state_is_readable(result, schema, ret_fault) &&
        pg_row_int64(result, 0, "version", 0) == 0)
        error_set(
            ret_fault, ERROR_CONFIG,
            "\"%s\".schema_version is empty, so the schema was not made by \"leaserun init\": "
            "use another schema, or insert the version it has (%d, 1)",
            schema, PG_SCHEMA_VERSION);
}

static void check_sequence(const PGresult *result, const char *schema, struct error *ret_fault)
{
    int64_t last = pg_row_int64(result, 0, "last_fence", 0);
    int64_t highest = pg_row_int64(result, 0, "highest_fence", 0);
    if (last >= highest)
        return;
    error_set(ret_fault, ERROR_CONFIG,
              "\"%s\".fence_seq stands at %" PRId64 ", behind the fence %" PRId64
              " that was given already (restored from a dump?): set it with setval",
              schema, last, highest);
}

void pg_state_find_faults(const PGresult *result, const char *schema, pg_fault_cb found,
                          void *owner)
{
    struct error fault = {.kind = ERROR_NONE};
    check_version(result, schema, &fault);
    if (fault.kind != ERROR_NONE)
        found(owner, &fault);
    fault.kind = ERROR_NONE;
    check_sequence(result, schema, &fault);
    if (fault.kind != ERROR_NONE)
        found(owner, &fault);
}
