/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_rights.h"

#include "store/postgresql/pg_facts.h"
#include "store/postgresql/pg_functions.h"
#include "store/postgresql/pg_sql.h"

#include <stdlib.h>
#include <string.h>

#define RIGHTS_MAX 5

struct need {
    const char *kind;               /* as GRANT has it */
    const char *name;               /* "" for the schema itself */
    const char *rights[RIGHTS_MAX]; /* NULL after the last */
};

static const struct need needs[] = {
    {.kind = "SCHEMA", .name = "", .rights = {"USAGE"}},
    {.kind = "SEQUENCE", .name = "fence_seq", .rights = {"USAGE"}},
    {.kind = "TABLE", .name = "leases", .rights = {"SELECT", "INSERT", "UPDATE", "DELETE"}},
    {.kind = "TABLE", .name = "runs", .rights = {"SELECT", "INSERT", "UPDATE", "DELETE"}},
    {.kind = "TABLE", .name = "steps", .rights = {"SELECT", "INSERT", "UPDATE", "DELETE"}},
    {.kind = "TABLE", .name = "fences", .rights = {"SELECT", "INSERT", "UPDATE", "DELETE"}},
    {.kind = "TABLE", .name = "schema_version", .rights = {"SELECT"}},
};
#define NEED_COUNT (sizeof needs / sizeof needs[0])

/* ---- as grants --------------------------------------------------------------------------- */

/* A schema's name may hold a newline, behind which a comment would be over. */
static void add_comment(struct text *script, const char *lines)
{
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        text_add(script, length == 0 ? "--" : "-- ");
        text_add_bytes(script, lines, length);
        text_add_char(script, '\n');
        lines += length + (lines[length] == '\n');
    }
}

static void add_grant(struct text *template, const struct need *need)
{
    text_add(template, "GRANT ");
    for (int i = 0; need->rights[i] != NULL; i++)
        text_addf(template, "%s%s", i == 0 ? "" : ", ", need->rights[i]);
    text_addf(template, " ON %s @%s TO app_role;\n", need->kind, need->name);
}

void pg_rights_add_grants(const char *schema, struct text *script)
{
    struct text template TEXT_AUTODONE = TEXT_INIT;
    text_add(&template, "For the role that leaserun connects as (here app_role), when it is not "
                        "the owner:\n\n");
    for (size_t i = 0; i < NEED_COUNT; i++)
        add_grant(&template, &needs[i]);
    for (const struct pg_function *f = pg_functions; f->name != NULL; f++)
        text_addf(&template, "GRANT EXECUTE ON FUNCTION @%s(%s) TO app_role;\n", f->name,
                  f->arguments);
    text_add(&template, "\nA role of a job's own that only calls require_fence_v1 needs USAGE on "
                        "the schema and\nEXECUTE on that function.\n");
    char *lines = pg_sql_expand(text_string(&template), schema);
    add_comment(script, lines);
    free(lines);
}

/* ---- as faults --------------------------------------------------------------------------- */

/* What is of another kind has no rights here: that is told as a fault of its own. */
static void check_right(const PGresult *facts, const char *schema, const char *kind,
                        const char *name, const char *right, struct error *ret_fault)
{
    bool is_schema = name[0] == '\0';
    const char *value = pg_facts_find(facts, "right", is_schema ? "schema" : name, right);
    ret_fault->kind = ERROR_NONE;
    if (value == NULL || value[0] == 't')
        return;
    error_set(ret_fault, ERROR_CONFIG,
              "this role lacks a right: GRANT %s ON %s \"%s\"%s%s TO it (\"leaserun init "
              "--print-sql\" shows all grants)",
              right, kind, schema, is_schema ? "" : ".", name);
}

void pg_rights_find_faults(const PGresult *facts, const char *schema, pg_fault_cb found,
                           void *owner)
{
    struct error fault;
    for (size_t i = 0; i < NEED_COUNT; i++)
        for (int r = 0; needs[i].rights[r] != NULL; r++) {
            check_right(facts, schema, needs[i].kind, needs[i].name, needs[i].rights[r], &fault);
            if (fault.kind != ERROR_NONE)
                found(owner, &fault);
        }
    for (const struct pg_function *f = pg_functions; f->name != NULL; f++) {
        check_right(facts, schema, "FUNCTION", f->signature, "EXECUTE", &fault);
        if (fault.kind != ERROR_NONE)
            found(owner, &fault);
    }
}
