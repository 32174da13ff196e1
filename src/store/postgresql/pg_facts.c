/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_facts.h"

#include "store/postgresql/pg_row.h"

#include <stddef.h>
#include <string.h>

#define OF_SCHEMA "JOIN !pg_namespace AS n ON n.oid {=} c.relnamespace AND n.nspname {=} $1::!text "
#define IS_TABLE  "c.relkind {=} ANY ('{r,p}'::!\"char\"[])"
#define OF_OURS                                                                                    \
    "JOIN !pg_namespace AS n ON n.oid {=} p.pronamespace AND n.nspname {=} $1::!text "             \
    "AND p.proname {=} ANY ('{next_seq_v1,require_fence_v1}'::!name[]) "
/* A type that the search path hides is shown with its schema. */
#define FUNCTION_NAME                                                                              \
    "(p.proname::!text {||} '(' {||} "                                                             \
    "!replace(!oidvectortypes(p.proargtypes), 'pg_catalog.', '') {||} ')')"

const char pg_facts_sql[] =
    "SELECT f.what, f.name, f.part, f.detail, #server FROM ("
    "SELECT 'schema' AS what, n.nspname::!text AS name, '' AS part, '' AS detail "
    "FROM !pg_namespace AS n WHERE n.nspname {=} $1::!text "
    "UNION ALL SELECT 'right', 'schema', 'USAGE', !has_schema_privilege(n.oid, 'USAGE')::!text "
    "FROM !pg_namespace AS n WHERE n.nspname {=} $1::!text "
    "UNION ALL SELECT 'owner', c.relname::!text, '', !pg_get_userbyid(c.relowner)::!text "
    "FROM !pg_class AS c " OF_SCHEMA "WHERE " IS_TABLE
    " UNION ALL SELECT 'relation', c.relname::!text, '', c.relkind::!text "
    "FROM !pg_class AS c " OF_SCHEMA
    "UNION ALL SELECT 'column', c.relname::!text, a.attname::!text, "
    "!replace(!format_type(a.atttypid, a.atttypmod), 'pg_catalog.', '') {||} CASE WHEN o.collname "
    "{=} 'C' THEN ' C' ELSE '' END "
    "FROM !pg_class AS c " OF_SCHEMA "JOIN !pg_attribute AS a ON a.attrelid {=} c.oid "
    "LEFT JOIN !pg_collation AS o ON o.oid {=} a.attcollation "
    "WHERE a.attnum {>} 0 AND NOT a.attisdropped AND " IS_TABLE
    " UNION ALL SELECT 'unique', c.relname::!text, (SELECT !string_agg(a.attname::!text, ',' "
    "ORDER BY k.n) FROM !unnest(i.indkey::!int2[]) WITH ORDINALITY AS k (attnum, n) "
    "JOIN !pg_attribute AS a ON a.attrelid {=} c.oid AND a.attnum {=} k.attnum "
    "WHERE k.n {<=} i.indnkeyatts), '' FROM !pg_class AS c " OF_SCHEMA
    "JOIN !pg_index AS i ON i.indrelid {=} c.oid WHERE i.indisunique AND i.indisvalid "
    "AND i.indimmediate AND i.indexprs IS NULL AND (i.indpred IS NULL "
    "OR !pg_get_expr(i.indpred, i.indrelid) {=} '(slot IS NOT NULL)') "
    "UNION ALL SELECT 'index', c.relname::!text, x.relname::!text, '' FROM !pg_class AS "
    "c " OF_SCHEMA
    "JOIN !pg_index AS i ON i.indrelid {=} c.oid JOIN !pg_class AS x ON x.oid {=} i.indexrelid "
    "UNION ALL SELECT 'right', c.relname::!text, r.name, "
    "!has_table_privilege(c.oid, r.name)::!text FROM !pg_class AS c " OF_SCHEMA
    "CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) AS r (name) "
    "WHERE " IS_TABLE " UNION ALL SELECT 'right', c.relname::!text, 'USAGE', "
    "!has_sequence_privilege(c.oid, 'USAGE')::!text FROM !pg_class AS c " OF_SCHEMA
    "WHERE c.relkind {=} 'S' "
    "UNION ALL SELECT 'function', " FUNCTION_NAME ", d.part, d.detail FROM !pg_proc AS p " OF_OURS
    "CROSS JOIN LATERAL (VALUES ('body', p.prosrc), ('owner', "
    "!pg_get_userbyid(p.proowner)::!text), "
    "('settings', COALESCE(!array_to_string(p.proconfig, '; '), '')), "
    "('volatility', p.provolatile::!text), ('definer', p.prosecdef::!text), "
    "('language', (SELECT l.lanname::!text FROM !pg_language AS l WHERE l.oid {=} p.prolang)), "
    "('returns', !format_type(p.prorettype, NULL))) AS d (part, detail) "
    "UNION ALL SELECT 'right', " FUNCTION_NAME ", 'EXECUTE', "
    "!has_function_privilege(p.oid, 'EXECUTE')::!text FROM !pg_proc AS p " OF_OURS
    "UNION ALL SELECT 'setting', s.name, '', !current_setting(s.name) FROM (VALUES "
    "('server_version'), ('server_encoding'), ('synchronous_commit'), "
    "('default_transaction_isolation'), ('transaction_read_only')) AS s (name) "
    "UNION ALL SELECT 'setting', 'backend_pid', '', !pg_backend_pid()::!text "
    "UNION ALL SELECT 'setting', 'in_recovery', '', !pg_is_in_recovery()::!text "
    ") AS f";

const char *pg_facts_find(const PGresult *facts, const char *what, const char *name,
                          const char *part)
{
    for (int row = 0; row < PQntuples(facts); row++)
        if (strcmp(pg_row_text(facts, row, "what"), what) == 0 &&
            strcmp(pg_row_text(facts, row, "name"), name) == 0 &&
            strcmp(pg_row_text(facts, row, "part"), part) == 0)
            return pg_row_text(facts, row, "detail");
    return NULL;
}
