/* SPDX-License-Identifier: ISC */
/* Which job is due next: a heap of one instant for each job that waits. Pure; of equal instants the
 * job that stands first in the table comes first. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct due_item {
    int64_t at_us;
    size_t job; /* its place in the table */
};

struct due {
    struct due_item *items;
    size_t count, room;
};

/* A zeroed struct due is empty. */
void due_done(struct due *due);
void due_clear(struct due *due); /* keeps the memory */

void due_put(struct due *due, int64_t at_us, size_t job);
bool due_head(const struct due *due, struct due_item *ret_item); /* false: nobody waits */
void due_drop_head(struct due *due);
