/* SPDX-License-Identifier: ISC */
/* Zone files: any bytes. What is accepted has spans without a gap between them, and slots that
 * only go forward. */
#include "base/mem.h"
#include "cron/cron.h"
#include "cron/zone_file.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_S (-INT64_C(62135596800)) /* the year 1 */
#define LAST_S  INT64_C(95617584000)    /* the year 5000 */
#define SPANS   3000
#define SLOTS   100

static void check_spans(const struct zone *zone)
{
    struct zone_span span;
    int64_t end_s = FIRST_S, offset_s = 0;
    for (int i = 0; i < SPANS && end_s < LAST_S; i++) {
        zone_span_at(zone, end_s, &span);
        FUZZ_CHECK(i == 0 || span.start_s == end_s);
        FUZZ_CHECK(i == 0 || span.previous_offset_s == offset_s);
        FUZZ_CHECK(span.start_s <= end_s && end_s < span.end_s);
        FUZZ_CHECK(abs(span.offset_s) <= ZONE_OFFSET_MAX_S);
        FUZZ_CHECK(strlen(span.abbreviation) < ZONE_ABBREVIATION_MAX);
        offset_s = span.offset_s;
        end_s = span.end_s;
    }
}

static void check_slots(const struct zone *zone, const char *schedule)
{
    struct cron cron;
    struct error err;
    int64_t slot_us = 0;
    FUZZ_CHECK(cron_parse(schedule, "", &cron, &err));
    for (int i = 0; i < SLOTS && slot_us != NO_INSTANT; i++) {
        int64_t next_us = cron_next(&cron, zone, slot_us);
        FUZZ_CHECK(next_us == NO_INSTANT || next_us > slot_us);
        slot_us = next_us;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct error err = {0};
    struct zone *zone = mem_alloc(sizeof *zone);
    unsigned char *exact = malloc(count + (count == 0));
    if (count > 0)
        memcpy(exact, bytes, count);
    if (zone_file_parse(exact, count, zone, &err)) {
        check_spans(zone);
        check_slots(zone, "30 2 * * *");
        check_slots(zone, "*/10 * * * *");
    } else {
        FUZZ_CHECK(err.kind == ERROR_CONFIG && fuzz_is_one_line(err.text));
    }
    zone_file_free(zone);
    free(exact);
    return 0;
}
