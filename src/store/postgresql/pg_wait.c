/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_wait.h"

#include "base/mem.h"
#include "base/text.h"
#include "store/postgresql/pg_row.h"
#include "store/postgresql/pg_sql.h"

enum wait_step {
    WAIT_NOT,
    WAIT_LOOK,   /* is this the server itself, or a pooler? */
    WAIT_LISTEN, /* before the mark: who sees the mark finds us listening */
    WAIT_MARK,
};

static const char listen_sql[] = "LISTEN " PG_SQL_CHANNEL;

/* A row that is being given back at this moment is waited for, and then not marked. */
static const char mark_sql[] =
    "WITH #settings, item AS MATERIALIZED (SELECT i.key, i.n FROM settings "
    "CROSS JOIN !unnest($2::!text[]) WITH ORDINALITY AS i (key, n) "
    "WHERE settings.lock_timeout IS NOT NULL)"
    ", marked AS (UPDATE @leases AS lease SET waited = true FROM item "
    "WHERE lease.key {=} item.key AND NOT lease.released AND NOT lease.waited RETURNING lease.key)"
    " SELECT item.key, (marked.key IS NOT NULL OR (lease.waited AND NOT lease.released)) "
    "AS is_marked, #server FROM item LEFT JOIN marked ON marked.key {=} item.key "
    "LEFT JOIN @leases AS lease ON lease.key {=} item.key ORDER BY item.n";

/* A hold ends by itself, at an instant that is known. */
static bool waits(const struct claim_item *item)
{
    return item->is_waiting && item->verdict == CLAIM_HELD && !item->is_on_hold;
}

static struct claim_item *next_waiting(const struct pg_task *task, size_t *index)
{
    for (; *index < task->request->u.claim.count; (*index)++)
        if (waits(&task->request->u.claim.items[*index]))
            return &task->request->u.claim.items[(*index)++];
    return NULL;
}

enum pg_next pg_wait_begin(struct pg_task *task)
{
    size_t index = 0;
    if (task->wait == NULL || task->wait->route == PG_ROUTE_POOLED ||
        next_waiting(task, &index) == NULL)
        return PG_NEXT_DONE;
    task->wait_step = task->wait->is_listening ? WAIT_MARK : WAIT_LOOK;
    return PG_NEXT_STEP;
}

bool pg_wait_is_under_way(const struct pg_task *task)
{
    return task->wait_step != WAIT_NOT;
}

static void build_mark(struct pg_task *task, struct pg_statement *statement)
{
    struct text keys = TEXT_INIT;
    size_t index = 0;
    pg_array_begin(&keys);
    for (struct claim_item *item; (item = next_waiting(task, &index)) != NULL;)
        pg_array_add_text(&keys, item->key);
    statement->sql = pg_sql_expand(mark_sql, task->schema);
    pg_statement_add(statement, pg_ops_lock_timeout(task));
    pg_statement_add(statement, pg_ops_take_array(&keys));
}

void pg_wait_build(struct pg_task *task, struct pg_statement *statement)
{
    switch ((enum wait_step)task->wait_step) {
    case WAIT_NOT:
        break;
    case WAIT_LOOK:
        statement->sql = pg_sql_expand(pg_route_sql, task->schema);
        break;
    case WAIT_LISTEN:
        statement->sql = mem_strdup(listen_sql);
        break;
    case WAIT_MARK:
        build_mark(task, statement);
        break;
    }
}

static void read_mark(struct pg_task *task, const PGresult *result)
{
    size_t index = 0;
    int row = 0;
    for (struct claim_item *item; (item = next_waiting(task, &index)) != NULL; row++)
        if (!pg_row_bool(result, row, "is_marked"))
            item->verdict = CLAIM_RACED;
}

enum pg_next pg_wait_read(struct pg_task *task, const PGresult *result)
{
    switch ((enum wait_step)task->wait_step) {
    case WAIT_NOT:
        break;
    case WAIT_LOOK:
        task->wait->route = pg_route_read(result, task->conn);
        task->wait_step = WAIT_LISTEN;
        return task->wait->route == PG_ROUTE_POOLED ? PG_NEXT_DONE : PG_NEXT_STEP;
    case WAIT_LISTEN:
        task->wait->is_listening = true;
        task->wait_step = WAIT_MARK;
        return PG_NEXT_STEP;
    case WAIT_MARK:
        read_mark(task, result);
        break;
    }
    return PG_NEXT_DONE;
}
