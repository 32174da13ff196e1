/* SPDX-License-Identifier: ISC */
/* Finds the number of a name among many in constant time: a hash over an array that stays its
 * owner's. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_INDEX_NONE SIZE_MAX

struct name_index {
    struct name_index_slot {
        uint32_t hash;
        uint32_t number; /* 1 and up; 0: empty */
    } * slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t count;
};

/* Whether the element with that number has that name. */
typedef bool (*name_index_is_cb)(const void *owner, size_t number, const char *name, size_t length);

/* The number of the name, NAME_INDEX_NONE when it is not there. */
size_t name_index_find(const struct name_index *index, const char *name, size_t length,
                       name_index_is_cb is, const void *owner);

/* Adds a name that is not there yet. number is below 2^32 - 1. */
void name_index_add(struct name_index *index, const char *name, size_t length, size_t number);
void name_index_done(struct name_index *index);
