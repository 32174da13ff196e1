/* SPDX-License-Identifier: ISC */
#include "schedule/due.h"

#include "base/mem.h"

#include <stdlib.h>

static bool comes_before(const struct due_item *a, const struct due_item *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->job < b->job;
}

void due_done(struct due *due)
{
    free(due->items);
    *due = (struct due){NULL, 0, 0};
}

void due_clear(struct due *due)
{
    due->count = 0;
}

void due_put(struct due *due, int64_t at_us, size_t job)
{
    if (due->count == due->room) {
        due->room = due->room == 0 ? 16 : due->room * 2;
        due->items = mem_grow(due->items, due->room, sizeof *due->items);
    }
    struct due_item item = {at_us, job};
    size_t at = due->count++;
    while (at > 0 && comes_before(&item, &due->items[(at - 1) / 2])) {
        due->items[at] = due->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    due->items[at] = item;
}

bool due_head(const struct due *due, struct due_item *ret_item)
{
    if (due->count == 0)
        return false;
    *ret_item = due->items[0];
    return true;
}

void due_drop_head(struct due *due)
{
    struct due_item last = due->items[--due->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= due->count)
            break;
        if (child + 1 < due->count && comes_before(&due->items[child + 1], &due->items[child]))
            child++;
        if (!comes_before(&due->items[child], &last))
            break;
        due->items[at] = due->items[child];
        at = child;
    }
    if (due->count > 0)
        due->items[at] = last;
}
