/* SPDX-License-Identifier: ISC */
#include "conf/string_pool.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 65536 /* a longer string has a block of its own */

struct string_pool_block {
    struct string_pool_block *next;
    size_t used, room;
    char bytes[];
};

static bool is_string(const void *owner, size_t number, const char *string, size_t length)
{
    const struct string_pool *pool = owner;
    const char *kept = pool->strings[number];
    return strncmp(kept, string, length) == 0 && kept[length] == '\0';
}

static char *take_room(struct string_pool *pool, size_t bytes)
{
    struct string_pool_block *block = pool->blocks;
    if (block == NULL || block->room - block->used < bytes) {
        size_t room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block = mem_alloc(sizeof *block + room);
        block->room = room;
        block->next = pool->blocks;
        pool->blocks = block;
    }
    block->used += bytes;
    return block->bytes + block->used - bytes;
}

static void note(struct string_pool *pool, char *string, size_t length)
{
    bool is_full = (pool->count & (pool->count - 1)) == 0;
    if (is_full)
        pool->strings =
            mem_grow(pool->strings, pool->count == 0 ? 1 : pool->count * 2, sizeof *pool->strings);
    name_index_add(&pool->index, string, length, pool->count);
    pool->strings[pool->count++] = string;
}

char *string_pool_keep(struct string_pool *pool, const char *string)
{
    size_t length = strlen(string);
    size_t number = name_index_find(&pool->index, string, length, is_string, pool);
    if (number != NAME_INDEX_NONE)
        return pool->strings[number];
    char *kept = memcpy(take_room(pool, length + 1), string, length + 1);
    note(pool, kept, length);
    return kept;
}

void string_pool_close(struct string_pool *pool)
{
    name_index_done(&pool->index);
    free(pool->strings);
    pool->strings = NULL;
    pool->count = 0;
}

void string_pool_done(struct string_pool *pool)
{
    string_pool_close(pool);
    while (pool->blocks != NULL) {
        struct string_pool_block *block = pool->blocks;
        pool->blocks = block->next;
        explicit_bzero(block->bytes, block->used);
        free(block);
    }
}
