/* SPDX-License-Identifier: ISC */
#include "conf/name_index.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>

#define SLOT_COUNT_LEAST 64

/* FNV-1a. */
static uint32_t hash_of(const char *name, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash;
}

static void place(struct name_index *index, struct name_index_slot slot)
{
    size_t at = slot.hash & (index->slot_count - 1);
    while (index->slots[at].number != 0)
        at = (at + 1) & (index->slot_count - 1);
    index->slots[at] = slot;
}

/* At most two slots of three are taken, so that a search soon meets an empty one. */
static void make_room(struct name_index *index)
{
    struct name_index old = *index;
    if ((index->count + 1) * 3 <= index->slot_count * 2)
        return;
    index->slot_count = old.slot_count == 0 ? SLOT_COUNT_LEAST : old.slot_count * 2;
    index->slots = mem_array(index->slot_count, sizeof *index->slots);
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].number != 0)
            place(index, old.slots[i]);
    free(old.slots);
}

size_t name_index_find(const struct name_index *index, const char *name, size_t length,
                       name_index_is_cb is, const void *owner)
{
    uint32_t hash = hash_of(name, length);
    if (index->slot_count == 0)
        return NAME_INDEX_NONE;
    for (size_t at = hash & (index->slot_count - 1); index->slots[at].number != 0;
         at = (at + 1) & (index->slot_count - 1)) {
        size_t number = index->slots[at].number - 1;
        if (index->slots[at].hash == hash && is(owner, number, name, length))
            return number;
    }
    return NAME_INDEX_NONE;
}

void name_index_add(struct name_index *index, const char *name, size_t length, size_t number)
{
    assert(number < UINT32_MAX);
    make_room(index);
    place(index, (struct name_index_slot){hash_of(name, length), (uint32_t)number + 1});
    index->count++;
}

void name_index_done(struct name_index *index)
{
    free(index->slots);
    *index = (struct name_index){0};
}
