/* SPDX-License-Identifier: ISC */
/* Schedules: any text. What is refused is told in one line; what is accepted has slots that only
 * go forward, and is the same when it is formatted and read again. */
#include "cron/cron_hints.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS    20
#define START_US INT64_C(1774659600000000) /* 2026-03-28 02:00 in Paris */

static void check_refusal(const struct error *err)
{
    FUZZ_CHECK(err->kind == ERROR_CONFIG && err->text[0] != '\0');
    FUZZ_CHECK(memchr(err->text, '\0', sizeof err->text) != NULL && fuzz_is_one_line(err->text));
}

static void check_slots(const struct cron *cron, const struct cron *again, const struct zone *zone)
{
    int64_t slot_us = START_US;
    for (int i = 0; i < SLOTS; i++) {
        int64_t next_us = cron_next(cron, zone, slot_us);
        FUZZ_CHECK(next_us == cron_next(again, zone, slot_us));
        if (next_us == NO_INSTANT)
            return;
        FUZZ_CHECK(next_us > slot_us && next_us <= CRON_LAST_US && next_us % 1000000 == 0);
        FUZZ_CHECK(cron_latest(cron, zone, slot_us, next_us) == next_us);
        FUZZ_CHECK(cron_latest(cron, zone, slot_us, next_us - 1) == NO_INSTANT);
        slot_us = next_us;
    }
}

static void check_hints(const struct cron *cron, const struct zone *zone)
{
    struct cron_hint hints[CRON_HINT_KIND_COUNT];
    size_t count = cron_hints_find(cron, zone, START_US, hints);
    FUZZ_CHECK(count <= CRON_HINT_KIND_COUNT);
    for (size_t i = 0; i < count; i++)
        FUZZ_CHECK(hints[i].text[0] != '\0' && fuzz_is_one_line(hints[i].text));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct fuzz_input input = {bytes, bytes + count};
    struct error err = {0};
    struct cron cron, again, other;
    char formatted[CRON_TEXT_MAX], rewritten[CRON_TEXT_MAX];
    char *text = fuzz_string(&input);
    const struct zone *zone = zone_find("Europe/Paris", &err);
    if (cron_parse(text, "key", &cron, &err)) {
        FUZZ_CHECK(zone != NULL && cron_parse(text, "key", &other, &err));
        FUZZ_CHECK(strlen(cron_format(&cron, formatted)) < CRON_TEXT_MAX);
        FUZZ_CHECK(cron_parse(formatted, NULL, &again, &err));
        FUZZ_CHECK(strcmp(cron_format(&again, rewritten), formatted) == 0);
        FUZZ_CHECK(strcmp(cron_format(&other, rewritten), formatted) == 0);
        check_slots(&cron, &again, zone);
        check_hints(&cron, zone);
    } else {
        check_refusal(&err);
    }
    free(text);
    return 0;
}
