/* SPDX-License-Identifier: ISC */
/* What a zone is made of, for zone*.c alone, and how it is read from a TZif file. */
#pragma once
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZONE_ABBREVIATION_MAX 12 /* with the NUL; longer ones are cut */
#define ZONE_OFFSET_MAX_S     (26 * 3600)

struct zone_type {
    int32_t offset_s;
    char abbreviation[ZONE_ABBREVIATION_MAX];
};

struct zone_change {
    int64_t at_s;
    size_t type; /* from at_s on */
};

struct zone {
    char *name;
    struct zone_type *types; /* types[0] holds before the first change */
    size_t type_count;
    struct zone_change *changes; /* ascending */
    size_t change_count;
    bool is_periodic; /* the changes of the last 400 years repeat for ever */
};

/* Appends; returns the new type's place. */
size_t zone_file_add_type(struct zone *zone, int32_t offset_s, const char *abbreviation,
                          size_t length);

/* Appends; a change at the instant of the last one replaces it. */
void zone_file_add_change(struct zone *zone, int64_t at_s, size_t type);

/* Reads the bytes of a TZif file, versions 1 to 4, into a zeroed zone. On failure the sentence says
 * what is wrong with the bytes, not where they are from, and the zone is to be freed. */
bool zone_file_parse(const unsigned char *bytes, size_t length, struct zone *zone,
                     struct error *err);

void zone_file_free(struct zone *zone); /* takes NULL */
