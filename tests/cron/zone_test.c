/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "check.h"
#include "cron/zone_file.h"
#include "cron/zone_instant.h"
#include "cron/zone_rule.h"
#include "zones.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FIRST_S (-INT64_C(2208988800)) /* 1900 */
#define LAST_S  INT64_C(7258118400)    /* 2200 */
#define FAR_S   INT64_C(32503680000)   /* 3000 */

/* ---- against the C library's own reader ---- */

static void check_instant(const char *name, const struct zone *zone, int64_t at_s)
{
    struct tm tm;
    struct zone_span span;
    time_t seconds = (time_t)at_s;
    localtime_r(&seconds, &tm);
    zone_span_at(zone, at_s, &span);
    if (tm.tm_gmtoff != span.offset_s || strcmp(tm.tm_zone, span.abbreviation) != 0)
        fail_msg("%s at %lld: %d %s, not %ld %s", name, (long long)at_s, span.offset_s,
                 span.abbreviation, tm.tm_gmtoff, tm.tm_zone);
    assert_true(span.start_s <= at_s && at_s < span.end_s);
}

static void check_zone(const char *name)
{
    struct error error;
    struct zone_span span;
    const struct zone *zone = zone_find(name, &error);
    assert_non_null(zone);
    assert_ptr_equal(zone, zone_find(name, &error));
    zones_use(name);
    int changes = 0;
    for (int64_t at_s = FIRST_S; at_s < LAST_S; at_s = span.end_s, changes++) {
        zone_span_at(zone, at_s, &span);
        check_instant(name, zone, at_s);
        check_instant(name, zone, span.end_s - 1 < LAST_S ? span.end_s - 1 : LAST_S);
        if (span.end_s == INT64_MAX)
            break;
    }
    for (int i = 0; i < 200; i++)
        check_instant(name, zone, zones_random(FIRST_S, i % 2 == 0 ? LAST_S : FAR_S));
}

static void every_zone__is_as_the_c_library_reads_it__from_1900_to_2200(void **state)
{
    (void)state;
    size_t count;
    const char *const *names = zones_all(&count);
    assert_true(count > 400);
    for (size_t i = 0; i < count; i++)
        check_zone(names[i]);
}

static const char *const rules[] = {"CET-1CEST,M3.5.0,M10.5.0/3",
                                    "EST5EDT,M3.2.0/2,M11.1.0/2",
                                    "AEST-10AEDT,M10.1.0,M4.1.0/3",
                                    "AAA3BBB,J59,J60/3:30:15",
                                    "AAA3BBB,58/4,59",
                                    "<-0330>3:30<-02>2,M1.1.6,M12.5.6",
                                    "QQQ-5:45"};

static void rules__are_as_the_c_library_reads_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(rules); i++) {
        struct error error;
        struct zone *zone = mem_alloc(sizeof *zone);
        assert_true(zone_rule_apply(zone, rules[i], &error));
        zones_use(rules[i]);
        for (int k = 0; k < 2000; k++)
            check_instant(rules[i], zone, zones_random(0, k % 2 == 0 ? LAST_S : FAR_S));
        for (int64_t day = 0; day < 8 * 366; day++)
            check_instant(rules[i], zone, day * 86400 + 43200);
        zone_file_free(zone);
    }
}

/* RFC 8536, 3.3.1. */
static void summer_time_that_never_ends__has_one_offset(void **state)
{
    (void)state;
    struct error error;
    struct zone_span span;
    struct zone *zone = mem_alloc(sizeof *zone);
    assert_true(zone_rule_apply(zone, "QQQ3EDT4,0/0,J365/23", &error));
    for (int k = 0; k < 10000; k++) {
        zone_span_at(zone, zones_random(0, FAR_S), &span);
        assert_int_equal(span.offset_s, -4 * 3600);
    }
    zone_file_free(zone);
}

/* ---- names ---- */

static const struct {
    const char *name, *said;
} refused[] = {
    {"Europe/Pariss", "unknown time zone \"Europe/Pariss\""},
    {"europe/PARIS", "unknown time zone \"europe/PARIS\": write Europe/Paris"},
    {"utc", "unknown time zone \"utc\": write UTC"},
    {"Europe", "unknown time zone \"Europe\""},
    {"Europe/Paris/x", "unknown time zone"},
    {"", "is no name of a time zone"},
    {"/etc/localtime", "is no name of a time zone"},
    {"../../../etc/passwd", "is no name of a time zone"},
    {"Europe/../Paris", "is no name of a time zone"},
    {"Europe/", "is no name of a time zone"},
    {"Europe/Paris ", "is no name of a time zone"},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "is no name of a time zone"},
    {"tzdata.zi", "is no name of a time zone"},
    {"leapseconds", "is no zone file"},
};

static void names_that_are_none__are_refused_with_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(refused); i++) {
        struct error error = {0};
        assert_null(zone_find(refused[i].name, &error));
        if (strstr(error.text, refused[i].said) == NULL)
            fail_msg("%s: %s", refused[i].name, error.text);
        assert_int_equal(error.kind, ERROR_CONFIG);
    }
}

static void without_zone_data__it_says_so__and_utc_is_there(void **state)
{
    (void)state;
    struct error error;
    setenv("TZDIR", "/nonexistent", 1);
    assert_null(zone_find("Asia/Tokyo", &error));
    assert_non_null(strstr(error.text, "there is no zone data in /nonexistent: install tzdata"));
    assert_non_null(zone_find("UTC", &error));
    assert_ptr_equal(zone_find("Etc/UTC", &error), zone_utc());
    unsetenv("TZDIR");
    assert_non_null(zone_find("Asia/Tokyo", &error));
}

static void utc__is_known_by_its_clock_and_not_by_its_name(void **state)
{
    (void)state;
    struct error error;
    static const char *const same[] = {"UTC", "Etc/UTC", "Zulu", "GMT", "Etc/GMT0"};
    static const char *const others[] = {"Europe/London", "Africa/Abidjan", "Atlantic/Reykjavik"};
    for (size_t i = 0; i < CASE_COUNT(same); i++)
        assert_true(zone_is_utc(zone_find(same[i], &error)));
    for (size_t i = 0; i < CASE_COUNT(others); i++)
        assert_false(zone_is_utc(zone_find(others[i], &error)));
}

/* ---- broken files ---- */

static unsigned char paris[8192];
static size_t paris_length;

static void write_zone(const char *folder, const char *name, size_t length)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(paris, 1, length, file), length);
    fclose(file);
}

static void read_paris(void)
{
    FILE *file = fopen(ZONES_FOLDER "/Europe/Paris", "re");
    assert_non_null(file);
    paris_length = fread(paris, 1, sizeof paris, file);
    fclose(file);
    assert_true(paris_length > 44);
}

static void files_that_are_cut_short__are_refused_at_any_length(void **state)
{
    (void)state;
    char folder[256], path[512], name[32];
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/zones.XXXXXX", temporary != NULL ? temporary : "/tmp");
    assert_non_null(mkdtemp(folder));
    setenv("TZDIR", folder, 1);
    read_paris();
    for (size_t length = 0; length <= paris_length; length++) {
        struct error error;
        snprintf(name, sizeof name, "Cut/at%zu", length);
        snprintf(path, sizeof path, "%s/Cut", folder);
        mkdir(path, 0700);
        write_zone(folder, name, length);
        const struct zone *zone = zone_find(name, &error);
        assert_true((zone != NULL) == (length == paris_length));
        if (zone == NULL)
            assert_non_null(strstr(error.text, name));
        snprintf(path, sizeof path, "%s/%s", folder, name);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/Cut", folder);
    rmdir(path);
    rmdir(folder);
    unsetenv("TZDIR");
}

/* Version 1: two changes, two types, one abbreviation. */
static unsigned char small[] = {
    'T', 'Z', 'i', 'f', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0, 0, 0,   0,   0,   0, 0, 0,
    0,   0,   0,   0,   0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0,  2,  0, 0, 0,   4,   0,   0, 1, 0,
    0,   0,   2,   0,   1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 14, 16, 0, 0, 'A', 'B', 'C', 0};

static void check_small(bool is_good, const char *said)
{
    struct error error = {0};
    struct zone *zone = mem_alloc(sizeof *zone);
    assert_int_equal(zone_file_parse(small, sizeof small, zone, &error), is_good);
    assert_non_null(strstr(error.text, said));
    zone_file_free(zone);
}

static void changes_that_are_not_in_order__are_refused(void **state)
{
    (void)state;
    unsigned char *first = small + 44, *second = small + 48;
    memcpy(first, "\0\0\1\0", 4);
    memcpy(second, "\0\0\1\1", 4);
    check_small(true, "");
    memcpy(second, "\0\0\1\0", 4);
    check_small(false, "not in order");
    memcpy(second, "\0\0\0\1", 4);
    check_small(false, "not in order");
    memcpy(second, "\0\0\1\1", 4);
    small[53] = 2;
    check_small(false, "leads nowhere");
}

/* ---- local time ---- */

static const struct {
    const char *zone, *text; /* local */
    int count;
    const char *first, *second;
} locals[] = {
    {"Europe/Paris", "2027-03-28 01:59:59", 1, "2027-03-28T00:59:59Z", NULL},
    {"Europe/Paris", "2027-03-28 02:30:00", 0, "2027-03-28T01:00:00Z", NULL},
    {"Europe/Paris", "2027-10-31 02:30:00", 2, "2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z"},
    {"Australia/Lord_Howe", "2027-04-04 01:45:00", 2, "2027-04-03T14:45:00Z",
     "2027-04-03T15:15:00Z"},
    {"Pacific/Apia", "2011-12-30 12:00:00", 0, "2011-12-30T10:00:00Z", NULL},
    {"America/New_York", "2400-07-01 00:00:00", 1, "2400-07-01T04:00:00Z", NULL},
};

static void local_times__have_none_one_or_two_instants(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(locals); i++) {
        struct error error;
        int64_t expected_us, local_us, found_us[2];
        const struct zone *zone = zone_find(locals[i].zone, &error);
        assert_true(zone_instant_parse(zone_utc(), locals[i].text, &local_us, &error));
        struct civil civil = zone_to_civil(zone_utc(), local_us);
        assert_int_equal(zone_from_civil(zone, &civil, found_us), locals[i].count);
        assert_true(zone_instant_parse(zone_utc(), locals[i].first, &expected_us, &error));
        assert_int_equal(found_us[0], expected_us);
        if (locals[i].second == NULL)
            continue;
        assert_true(zone_instant_parse(zone_utc(), locals[i].second, &expected_us, &error));
        assert_int_equal(found_us[1], expected_us);
    }
}

static const struct {
    const char *text, *formatted; /* NULL: refused */
} instants[] = {
    {"2027-03-28", "2027-03-28T00:00:00+01:00"},
    {"2027-03-28 04:00", "2027-03-28T04:00:00+02:00"},
    {"2027-03-28T04:00:30", "2027-03-28T04:00:30+02:00"},
    {"2027-03-28 02:30", "2027-03-28T03:00:00+02:00"},
    {"2027-03-28T04:00:00.5Z", "2027-03-28T06:00:00+02:00"},
    {"2027-03-28T04:00:00-05:30", "2027-03-28T11:30:00+02:00"},
    {"0001-01-01T00:00:00Z", "0001-01-01T00:09:21+00:09:21"},
    {"2028-02-29", "2028-02-29T00:00:00+01:00"},
    {"2027-02-29", NULL},
    {"2027-13-01", NULL},
    {"2027-1-1", NULL},
    {"2027-01-01 24:00", NULL},
    {"2027-01-01 02:00 CET", NULL},
    {"2027-01-01T02:00:00+2", NULL},
    {"2027-01-01T", NULL},
    {"2027-01-01Z", NULL},
    {"now", NULL},
    {"", NULL},
    {"1793000000", NULL},
};

static void instants__are_read_and_written_in_a_zone(void **state)
{
    (void)state;
    struct error error;
    const struct zone *zone = zone_find("Europe/Paris", &error);
    for (size_t i = 0; i < CASE_COUNT(instants); i++) {
        int64_t wall_us;
        char text[ZONE_INSTANT_MAX];
        bool is_read = zone_instant_parse(zone, instants[i].text, &wall_us, &error);
        assert_int_equal(is_read, instants[i].formatted != NULL);
        if (is_read)
            assert_string_equal(zone_instant_format(zone, wall_us, text), instants[i].formatted);
        else
            assert_non_null(strstr(error.text, "is no instant: write 2027-03-28T02:00:00Z"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* the first: while nothing is read yet */
        cmocka_unit_test(without_zone_data__it_says_so__and_utc_is_there),
        cmocka_unit_test(every_zone__is_as_the_c_library_reads_it__from_1900_to_2200),
        cmocka_unit_test(rules__are_as_the_c_library_reads_them),
        cmocka_unit_test(summer_time_that_never_ends__has_one_offset),
        cmocka_unit_test(names_that_are_none__are_refused_with_a_sentence),
        cmocka_unit_test(utc__is_known_by_its_clock_and_not_by_its_name),
        cmocka_unit_test(files_that_are_cut_short__are_refused_at_any_length),
        cmocka_unit_test(changes_that_are_not_in_order__are_refused),
        cmocka_unit_test(local_times__have_none_one_or_two_instants),
        cmocka_unit_test(instants__are_read_and_written_in_a_zone),
    };
    zones_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
