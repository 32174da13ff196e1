/* SPDX-License-Identifier: ISC */
/* Strings that are kept once however often they occur, and given back together. */
#pragma once
#include "conf/name_index.h"

#include <stddef.h>

struct string_pool {
    struct string_pool_block *blocks; /* the newest first */
    char **strings;                   /* by number in index */
    size_t count;
    struct name_index index;
};

/* The pool's copy of the string; the same pointer for the same bytes. */
char *string_pool_keep(struct string_pool *pool, const char *string);

/* No more strings will come: gives back what only keeping needs. */
void string_pool_close(struct string_pool *pool);
void string_pool_done(struct string_pool *pool); /* wipes: an environment may hold secrets */
