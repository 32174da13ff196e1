/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_prepared.h"

#include "base/mem.h"
#include "store/postgresql/pg_sql.h"
#include "store/postgresql/pg_wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREPARED_FROM 3 /* the use; one or two are not worth it */
#define REPLAN_FIRST  8 /* the server tries five plans before it keeps one */

static struct pg_prepared_one *find(struct pg_prepared *prepared, const char *template,
                                    const struct pg_sql_name *names)
{
    for (int i = 0; i < PG_PREPARED_MAX; i++) {
        struct pg_prepared_one *one = &prepared->all[i];
        if ((one->template == template && one->names == names) || one->template == NULL)
            return one;
    }
    return NULL;
}

void pg_prepared_write(struct pg_task *task, const char *template, const struct pg_sql_name *names,
                       struct pg_statement *statement)
{
    struct pg_prepared *prepared = task->prepared;
    struct pg_prepared_one *one = prepared == NULL ? NULL : find(prepared, template, names);
    if (one != NULL) {
        one->template = template;
        one->names = names;
        one->kind = task->request->kind;
        one->use_count++;
    }
    if (one == NULL || one->name[0] == '\0' || prepared->is_given_up) {
        statement->sql = pg_sql_expand_names(template, task->schema, names);
        return;
    }
    statement->name = mem_strdup(one->name);
    prepared->is_used = true;
    prepared->use_count++;
}

/* ---- what is asked before ---------------------------------------------------------------- */

/* Only for requests that use it: no other waits for a lock on tables that it does not need. */
static struct pg_prepared_one *find_due(struct pg_prepared *prepared, enum store_kind kind)
{
    for (int i = 0; i < PG_PREPARED_MAX; i++) {
        struct pg_prepared_one *one = &prepared->all[i];
        if (one->kind == kind && one->name[0] == '\0' && one->use_count >= PREPARED_FROM - 1)
            return one;
    }
    return NULL;
}

static enum pg_prepared_question next_question(struct pg_task *task)
{
    struct pg_prepared *prepared = task->prepared;
    if (prepared == NULL || prepared->is_given_up || task->wait->route == PG_ROUTE_POOLED)
        return PG_PREPARED_NOTHING;
    if (find_due(prepared, task->request->kind) != NULL)
        return task->wait->route == PG_ROUTE_UNKNOWN ? PG_PREPARED_ROUTE : PG_PREPARED_MAKE;
    return prepared->use_count >= prepared->replan_at && prepared->use_count > 0
               ? PG_PREPARED_REPLAN
               : PG_PREPARED_NOTHING;
}

bool pg_prepared_asks(struct pg_task *task)
{
    enum pg_prepared_question question = next_question(task);
    if (task->prepared != NULL) {
        task->prepared->question = question;
        task->prepared->is_used = false;
    }
    return question != PG_PREPARED_NOTHING;
}

static void write_name(struct pg_prepared_one *one, const char *sql)
{
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    for (; *sql != '\0'; sql++)
        hash = (hash ^ (unsigned char)*sql) * 1099511628211U;
    snprintf(one->name, sizeof one->name, "leaserun_%016" PRIx64, hash);
}

void pg_prepared_build(struct pg_task *task, struct pg_statement *statement)
{
    struct pg_prepared_one *one;
    switch (task->prepared->question) {
    case PG_PREPARED_NOTHING:
        break;
    case PG_PREPARED_ROUTE:
        statement->sql = pg_sql_expand(pg_route_sql, task->schema);
        break;
    case PG_PREPARED_MAKE:
        one = find_due(task->prepared, task->request->kind);
        statement->sql = pg_sql_expand_names(one->template, task->schema, one->names);
        write_name(one, statement->sql);
        statement->name = mem_strdup(one->name);
        break;
    case PG_PREPARED_REPLAN:
        statement->sql = mem_strdup("DISCARD PLANS");
        break;
    }
}

void pg_prepared_read(struct pg_task *task, const PGresult *result)
{
    struct pg_prepared *prepared = task->prepared;
    enum pg_prepared_question question = prepared->question;
    ExecStatusType status = PQresultStatus(result);
    prepared->question = PG_PREPARED_NOTHING;
    prepared->is_given_up = status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK;
    if (prepared->is_given_up)
        return;
    if (question == PG_PREPARED_ROUTE)
        task->wait->route = pg_route_read(result, task->conn);
    if (question == PG_PREPARED_REPLAN)
        prepared->replan_at = prepared->use_count * 2;
    else if (prepared->replan_at == 0)
        prepared->replan_at = REPLAN_FIRST;
}

/* ---- fallback ---------------------------------------------------------------------------- */

/* The server has none of that name, or its plan no longer fits what has become of the tables. */
bool pg_prepared_was_lost(struct pg_task *task, const char *sqlstate)
{
    struct pg_prepared *prepared = task->prepared;
    if (prepared == NULL || !prepared->is_used || sqlstate == NULL)
        return false;
    bool is_lost = strcmp(sqlstate, "26000") == 0 || strcmp(sqlstate, "0A000") == 0;
    prepared->is_given_up = prepared->is_given_up || is_lost;
    return is_lost;
}
