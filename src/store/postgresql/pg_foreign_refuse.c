/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_foreign_refuse.h"

#include "store/postgresql/pg_foreign_ops.h"

static size_t count_chars(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += (*text & 0xC0) != 0x80 ? 1 : 0; /* a byte that begins a character */
    return count;
}

static bool check_claim(const struct pg_task *task, const struct claim_item *item,
                        struct error *err)
{
    const struct pg_foreign *foreign = task->foreign;
    int chars = foreign->columns[STORE_COLUMN_KEY].chars;
    if (chars > 0 && count_chars(item->key) > (size_t)chars)
        return error_set(err, ERROR_CONFIG,
                         "the key has %zu characters, and the column \"%s\" of %s takes %d",
                         count_chars(item->key), foreign->table.columns[STORE_COLUMN_KEY],
                         foreign->shown, chars);
    if (!foreign->is_joined && pg_foreign_is_judged_by_own(item))
        return error_set(err, ERROR_CONFIG,
                         "--once, --once-per and slots need leaserun's own tables beside %s, and "
                         "there is no schema \"%s\" in this database: create it with \"leaserun "
                         "init\"",
                         foreign->shown, task->schema);
    return true;
}

/* One of several that go together is told so once it comes alone: a refusal is the whole request's.
 */
void pg_foreign_refuse_leave_out(struct pg_task *task)
{
    struct pg_foreign_work *work = task->work;
    struct error ignored;
    size_t left = 0;
    for (size_t i = 0; i < work->claim_count; i++) {
        if (check_claim(task, work->claims[i], &ignored))
            work->claims[left++] = work->claims[i];
        else
            work->claims[i]->verdict = CLAIM_RACED;
    }
    work->claim_count = left;
}

bool pg_foreign_refuse_check(const struct pg_task *task, struct error *err)
{
    const struct store_request *request = task->request;
    bool is_of_own = request->kind == STORE_HISTORY || request->kind == STORE_RECALL ||
                     request->kind == STORE_FORGET;
    if (!pg_foreign_is_known(task->foreign))
        return true; /* the catalog comes first */
    if (is_of_own && !task->foreign->is_joined)
        return error_set(
            err, ERROR_CONFIG,
            "runs and slots are kept in leaserun's own tables beside %s, and there is no schema "
            "\"%s\" in this database: create it with \"leaserun init\"",
            task->foreign->shown, task->schema);
    return request->kind != STORE_CLAIM || request->u.claim.count > 1 ||
           check_claim(task, &request->u.claim.items[0], err);
}
