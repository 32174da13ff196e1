/* SPDX-License-Identifier: ISC */
#include "cron/zone_file.h"

#include "base/mem.h"
#include "cron/zone_rule.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 44
#define TYPE_BYTES   6
#define EARLIEST_S   (-(INT64_C(1) << 59)) /* RFC 8536, 3.2: what a first change may lie at */
#define LATEST_S     (INT64_C(1) << 55)    /* far behind any year, and sums still fit */

/* The counts of a header, in its order. */
struct header {
    char version;
    uint32_t is_ut_count, is_standard_count, leap_count, change_count, type_count, char_count;
};

struct reader {
    const unsigned char *at;
    size_t left;
};

static const unsigned char *take(struct reader *reader, uint64_t count)
{
    const unsigned char *bytes = reader->at;
    if (count > reader->left)
        return NULL;
    reader->at += count;
    reader->left -= (size_t)count;
    return bytes;
}

static uint64_t read_big_endian(const unsigned char *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

static bool is_broken(struct error *err, const char *reason)
{
    return error_set(err, ERROR_CONFIG, "%s", reason);
}

static bool read_header(struct reader *reader, struct header *ret_header, struct error *err)
{
    const unsigned char *bytes = take(reader, HEADER_BYTES);
    if (bytes == NULL || memcmp(bytes, "TZif", 4) != 0)
        return is_broken(err, "it is no zone file");
    uint32_t counts[6];
    for (size_t i = 0; i < 6; i++)
        counts[i] = (uint32_t)read_big_endian(bytes + 20 + 4 * i, 4);
    *ret_header = (struct header){(char)bytes[4], counts[0], counts[1], counts[2],
                                  counts[3],      counts[4], counts[5]};
    if (counts[4] == 0 || counts[4] > 256 || counts[5] == 0)
        return is_broken(err, "its header makes no sense");
    return true;
}

static uint64_t body_bytes(const struct header *header, size_t time_bytes)
{
    return (uint64_t)header->change_count * (time_bytes + 1) +
           (uint64_t)header->type_count * TYPE_BYTES + header->char_count +
           (uint64_t)header->leap_count * (time_bytes + 4) + header->is_standard_count +
           header->is_ut_count;
}

static bool add_types(struct zone *zone, const struct header *header, const unsigned char *types,
                      const char *chars, struct error *err)
{
    for (uint32_t i = 0; i < header->type_count; i++) {
        const unsigned char *type = types + (size_t)i * TYPE_BYTES;
        int32_t offset_s = (int32_t)(uint32_t)read_big_endian(type, 4);
        size_t from = type[5];
        if (offset_s < -ZONE_OFFSET_MAX_S || offset_s > ZONE_OFFSET_MAX_S)
            return is_broken(err, "a difference to UTC is more than 26 hours");
        if (from >= header->char_count ||
            memchr(chars + from, '\0', header->char_count - from) == NULL)
            return is_broken(err, "an abbreviation does not end");
        zone_file_add_type(zone, offset_s, chars + from, strlen(chars + from));
    }
    return true;
}

static bool add_changes(struct zone *zone, const struct header *header, const unsigned char *times,
                        size_t time_bytes, const unsigned char *indices, struct error *err)
{
    for (uint32_t i = 0; i < header->change_count; i++) {
        uint64_t raw = read_big_endian(times + (size_t)i * time_bytes, time_bytes);
        int64_t at_s = time_bytes == 4 ? (int32_t)(uint32_t)raw : (int64_t)raw;
        if (at_s < EARLIEST_S || at_s > LATEST_S)
            return is_broken(err, "a change of the clock lies outside of time");
        if (i > 0 && at_s <= zone->changes[zone->change_count - 1].at_s)
            return is_broken(err, "its changes of the clock are not in order");
        if (indices[i] >= header->type_count)
            return is_broken(err, "a change of the clock leads nowhere");
        zone_file_add_change(zone, at_s, indices[i]);
    }
    return true;
}

static bool read_body(struct reader *reader, const struct header *header, size_t time_bytes,
                      struct zone *zone, struct error *err)
{
    const unsigned char *times = take(reader, body_bytes(header, time_bytes));
    if (times == NULL)
        return is_broken(err, "it is cut short");
    if (header->leap_count > 0)
        return is_broken(err, "it counts leap seconds, and schedules do not");
    const unsigned char *indices = times + (size_t)header->change_count * time_bytes;
    const unsigned char *types = indices + header->change_count;
    const char *chars = (const char *)types + (size_t)header->type_count * TYPE_BYTES;
    return add_types(zone, header, types, chars, err) &&
           add_changes(zone, header, times, time_bytes, indices, err);
}

/* "\nRULE\n"; no rule: the last change is the last for ever. */
static bool read_footer(struct reader *reader, struct zone *zone, struct error *err)
{
    const unsigned char *end =
        reader->left < 2 ? NULL : memchr(reader->at + 1, '\n', reader->left - 1);
    if (end == NULL || *reader->at != '\n' || memchr(reader->at, '\0', reader->left) != NULL)
        return is_broken(err, "the rule at its end is missing");
    if (end == reader->at + 1)
        return true;
    MEM_AUTOFREE char *rule =
        mem_strndup((const char *)reader->at + 1, (size_t)(end - reader->at - 1));
    return zone_rule_apply(zone, rule, err);
}

bool zone_file_parse(const unsigned char *bytes, size_t length, struct zone *zone,
                     struct error *err)
{
    struct reader reader = {bytes, length};
    struct header header = {0};
    if (!read_header(&reader, &header, err))
        return false;
    if (header.version < '2')
        return read_body(&reader, &header, 4, zone, err);
    if (take(&reader, body_bytes(&header, 4)) == NULL)
        return is_broken(err, "it is cut short");
    return read_header(&reader, &header, err) && read_body(&reader, &header, 8, zone, err) &&
           read_footer(&reader, zone, err);
}

/* ---- what zones are made of ---- */

size_t zone_file_add_type(struct zone *zone, int32_t offset_s, const char *abbreviation,
                          size_t length)
{
    zone->types = mem_grow(zone->types, zone->type_count + 1, sizeof *zone->types);
    struct zone_type *type = &zone->types[zone->type_count];
    size_t kept = length < ZONE_ABBREVIATION_MAX ? length : ZONE_ABBREVIATION_MAX - 1;
    *type = (struct zone_type){.offset_s = offset_s};
    memcpy(type->abbreviation, abbreviation, kept);
    return zone->type_count++;
}

void zone_file_add_change(struct zone *zone, int64_t at_s, size_t type)
{
    size_t count = zone->change_count;
    if (count > 0 && zone->changes[count - 1].at_s == at_s) {
        zone->changes[count - 1].type = type;
        return;
    }
    if ((count & (count - 1)) == 0)
        zone->changes = mem_grow(zone->changes, count == 0 ? 1 : 2 * count, sizeof *zone->changes);
    zone->changes[zone->change_count++] = (struct zone_change){at_s, type};
}

void zone_file_free(struct zone *zone)
{
    if (zone == NULL)
        return;
    free(zone->name);
    free(zone->types);
    free(zone->changes);
    free(zone);
}
