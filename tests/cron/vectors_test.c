/* SPDX-License-Identifier: ISC */
/* Expressions with their instants: data/vectors.tsv, and those that are refused: data/invalid.tsv.
 * Each row was found by running independent implementations (the columns name them). */
#include "check.h"
#include "cron/cron.h"
#include "lines.h"

#include <stdio.h>
#include <string.h>

static void complain(const struct lines *lines, const char *what, const char *detail)
{
    print_error("%s:%d: %s: %s (%s)\n", lines->path, lines->number, lines->columns[0], what,
                detail);
}

/* "2015-01-31T08:00:00Z" as microseconds. */
static int64_t instant_of(const char *text)
{
    long year;
    struct civil civil = {0};
    assert_int_equal(sscanf(text, "%ld-%2d-%2dT%2d:%2d:%2dZ", &year, &civil.month, &civil.day,
                            &civil.hour, &civil.minute, &civil.second),
                     6);
    civil.year = year;
    return civil_seconds(&civil) * 1000000;
}

/* The five instants of a row, one after the other. */
static bool has_the_instants_of_the_row(const struct lines *lines)
{
    struct cron cron;
    struct error error;
    const struct zone *zone = zone_find(lines->columns[1], &error);
    if (zone == NULL || !cron_parse(lines->columns[0], "", &cron, &error)) {
        complain(lines, "refused", error.text);
        return false;
    }
    int64_t after_us = instant_of(lines->columns[2]);
    for (char *at = lines->columns[3]; at != NULL;) {
        const char *expected = strsep(&at, ",");
        int64_t expected_us = strcmp(expected, "never") == 0 ? NO_INSTANT : instant_of(expected);
        after_us = cron_next(&cron, zone, after_us);
        if (after_us != expected_us) {
            complain(lines, "expected", expected);
            return false;
        }
    }
    return true;
}

static void every_row_of_the_vectors__gives_its_instants(void **state)
{
    (void)state;
    struct lines lines;
    int bad = 0;
    lines_open(&lines, "vectors.tsv");
    while (lines_next(&lines, 5))
        bad += !has_the_instants_of_the_row(&lines);
    assert_int_equal(lines.row_count, 4586);
    lines_close(&lines);
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_vectors__gives_its_instants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
