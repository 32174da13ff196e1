/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_functions.h"

#include "store/postgresql/pg_facts.h"
#include "store/postgresql/pg_sql.h"

#include <stdlib.h>
#include <string.h>

/* ---- what they do ------------------------------------------------------------------------ */

/* PL/pgSQL takes a new snapshot for each of its statements in a volatile function, at read
 * committed: what is read after a lock was waited for includes what its last owner committed. An
 * SQL function would not. Parameters are named by number only: a name could be a column's. */
#define LANGUAGE "plpgsql"
#define SETTINGS "search_path=pg_catalog, pg_temp"

/* The lock orders those who add to one run; the unique constraints decide. Any number would do as
 * seed, as long as all versions of leaserun use the same. */
static const char next_seq_body[] =
    "\n"
    "DECLARE\n"
    "    last_seq !int8;\n"
    "BEGIN\n"
    "    PERFORM !pg_advisory_xact_lock(\n"
    "        !hashtextextended($1 COLLATE !\"C\", 7810756276995126638));\n"
    "    SELECT !max(step.seq) INTO last_seq FROM @steps AS step\n"
    "        WHERE step.run_id {=} ($1 COLLATE !\"C\");\n"
    "    RETURN COALESCE(last_seq, 0) {+} 1;\n"
    "END\n";

/* The row in fences is locked until the caller's transaction ends: writers of a key come one after
 * the other, and whoever waited judges by what is committed then. The lease's row is only read: a
 * lock on it would hold up renewals. While there is a lease, its fence is the only one that was
 * given last; once it is purged, the sequence tells what was given at all. */
static const char require_fence_body[] =
    "\n"
    "DECLARE\n"
    "    last_seen !int8;\n"
    "    current !int8;\n"
    "    last_given !int8;\n"
    "BEGIN\n"
    "    IF $1 IS NULL OR $2 IS NULL THEN\n"
    "        RAISE EXCEPTION 'require_fence_v1 needs a key and a fence' USING\n"
    "            ERRCODE = 'LR002', HINT = 'Pass LEASERUN_KEY and LEASERUN_FENCE.';\n"
    "    END IF;\n"
    "    INSERT INTO @fences AS seen (key, fence, seen_at)\n"
    "        VALUES ($1, $2, !clock_timestamp())\n"
    "        ON CONFLICT (key) DO UPDATE\n"
    "        SET fence = GREATEST(seen.fence, EXCLUDED.fence), seen_at = EXCLUDED.seen_at\n"
    "        RETURNING seen.fence INTO last_seen;\n"
    "    SELECT lease.fence INTO current FROM @leases AS lease\n"
    "        WHERE lease.key {=} ($1 COLLATE !\"C\");\n"
    "    SELECT CASE WHEN numbers.is_called THEN numbers.last_value ELSE 0 END\n"
    "        INTO last_given FROM @fence_seq AS numbers;\n"
    "    IF $2 {<} GREATEST(last_seen, current) AND $2 {>} 0 THEN\n"
    "        RAISE EXCEPTION 'the mandate of \"%\" with the fence % is over: % came after it',\n"
    "            $1, $2, GREATEST(last_seen, current) USING ERRCODE = 'LR001',\n"
    "            HINT = 'Another holder works with this key now: end without writing.';\n"
    "    END IF;\n"
    "    IF $2 {<=} 0 OR $2 {>} COALESCE(current, last_given) THEN\n"
    "        RAISE EXCEPTION 'the fence % was never given for \"%\"', $2, $1 USING\n"
    "            ERRCODE = 'LR002', HINT = 'Pass LEASERUN_FENCE as it is.';\n"
    "    END IF;\n"
    "END\n";

const struct pg_function pg_functions[] = {
    {
        .name = "next_seq_v1",
        .arguments = "!text",
        .signature = "next_seq_v1(text)",
        .returned = "!int8",
        .returns = "bigint",
        .body = next_seq_body,
    },
    {
        .name = "require_fence_v1",
        .arguments = "!text, !int8",
        .signature = "require_fence_v1(text, bigint)",
        .returned = "!void",
        .returns = "void",
        .is_definer = true,
        .body = require_fence_body,
    },
    {.name = NULL},
};

/* ---- creating ---------------------------------------------------------------------------- */

bool pg_functions_is_missing(const PGresult *facts, const struct pg_function *function)
{
    return facts == NULL || pg_facts_find(facts, "function", function->signature, "body") == NULL;
}

static void add_expanded(struct text *script, const char *template, const char *schema)
{
    char *sql = pg_sql_expand(template, schema);
    text_add(script, sql);
    free(sql);
}

/* A dollar quote that a schema of any name does not end. */
static void make_quote(struct text *quote, const char *word, const char *schema)
{
    text_addf(quote, "$%s", word);
    while (strstr(schema, text_string(quote)) != NULL)
        text_add_char(quote, '_');
    text_add_char(quote, '$');
}

/* PUBLIC may call whatever is new: that right is taken in the same transaction. There is no IF NOT
 * EXISTS for functions; one that is there stays as it is. */
void pg_functions_add_sql(const struct pg_function *function, const char *schema,
                          struct text *script)
{
    struct text outer TEXT_AUTODONE = TEXT_INIT, inner TEXT_AUTODONE = TEXT_INIT;
    struct text sql TEXT_AUTODONE = TEXT_INIT;
    make_quote(&outer, "create", schema);
    make_quote(&inner, "body", schema);
    text_addf(&sql,
              "CREATE FUNCTION @%s(%s) RETURNS %s LANGUAGE " LANGUAGE " VOLATILE%s\n"
              "    SET search_path = pg_catalog, pg_temp AS ",
              function->name, function->arguments, function->returned,
              function->is_definer ? " SECURITY DEFINER" : "");
    text_addf(script, "DO %s BEGIN\n", text_string(&outer));
    add_expanded(script, text_string(&sql), schema);
    text_add(script, text_string(&inner));
    add_expanded(script, function->body, schema);
    text_addf(script, "%s;\n", text_string(&inner));
    text_clear(&sql);
    text_addf(&sql, "REVOKE ALL ON FUNCTION @%s(%s) FROM PUBLIC;\n", function->name,
              function->arguments);
    add_expanded(script, text_string(&sql), schema);
    text_addf(script, "EXCEPTION WHEN duplicate_function THEN NULL;\nEND %s;\n",
              text_string(&outer));
}

/* ---- comparing --------------------------------------------------------------------------- */

static const char *fact(const PGresult *facts, const struct pg_function *function, const char *part)
{
    const char *value = pg_facts_find(facts, "function", function->signature, part);
    return value == NULL ? "" : value;
}

static bool is_as_written(const PGresult *facts, const struct pg_function *function,
                          const char *schema)
{
    char *body = pg_sql_expand(function->body, schema);
    bool is_same = strcmp(fact(facts, function, "body"), body) == 0;
    free(body);
    return is_same && strcmp(fact(facts, function, "language"), LANGUAGE) == 0 &&
           strcmp(fact(facts, function, "returns"), function->returns) == 0;
}

/* Compared in this order; the first difference is told, since the advice is the same for all. */
static const char *find_difference(const PGresult *facts, const struct pg_function *function,
                                   const char *schema)
{
    if (!is_as_written(facts, function, schema))
        return "has another body than this leaserun's";
    if (strcmp(fact(facts, function, "settings"), SETTINGS) != 0)
        return "does not run with exactly search_path = pg_catalog, pg_temp";
    if (strcmp(fact(facts, function, "volatility"), "v") != 0)
        return "is not VOLATILE";
    if ((fact(facts, function, "definer")[0] == 't') != function->is_definer)
        return function->is_definer ? "is not SECURITY DEFINER" : "is SECURITY DEFINER";
    return NULL;
}

static void check_owner(const PGresult *facts, const struct pg_function *function,
                        const char *schema, pg_fault_cb found, void *owner)
{
    struct error err;
    const char *wanted = pg_facts_find(facts, "owner", "leases", "");
    const char *actual = fact(facts, function, "owner");
    if (wanted == NULL || strcmp(wanted, actual) == 0)
        return;
    error_set(&err, ERROR_CONFIG,
              "\"%s\".%s belongs to \"%s\" and the tables to \"%s\": give it to their owner (ALTER "
              "FUNCTION ... OWNER TO)",
              schema, function->signature, actual, wanted);
    found(owner, &err);
}

void pg_functions_find_faults(const PGresult *facts, const char *schema, pg_fault_cb found,
                              void *owner)
{
    struct error err;
    for (const struct pg_function *f = pg_functions; f->name != NULL; f++) {
        if (pg_functions_is_missing(facts, f))
            continue;
        const char *difference = find_difference(facts, f, schema);
        if (difference != NULL) {
            error_set(&err, ERROR_CONFIG,
                      "\"%s\".%s %s: drop it (DROP FUNCTION), and \"leaserun init\" makes it anew",
                      schema, f->signature, difference);
            found(owner, &err);
        }
        check_owner(facts, f, schema, found, owner);
    }
}
