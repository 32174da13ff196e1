/* SPDX-License-Identifier: ISC */
#include "base/now.h"
#include "captured.h"
#include "check.h"
#include "cli/listing.h"

static const struct listing_column columns[] = {
    {"key", "KEY"},
    {"remaining_ms", "REMAINING"},
    {"slot", "SLOT"},
};

static void add_rows(struct listing *listing)
{
    listing_text(listing, "cl\xc3\xa9");
    listing_span(listing, 125000);
    listing_instant(listing, NO_INSTANT);
    listing_text(listing, "a \"b\"\n");
    listing_span(listing, 0);
    listing_instant(listing, INT64_C(1772330400123456));
}

static void people__aligned_columns(void **state)
{
    (void)state;
    struct listing listing;
    captured_start();
    listing_start(&listing, columns, 3, false);
    add_rows(&listing);
    listing_end(&listing);
    assert_string_equal(captured_end(), "KEY      REMAINING  SLOT\n"
                                        "cl\xc3\xa9      2m 5s      -\n"
                                        "a \"b\"\\n  0s         2026-03-01T02:00:00Z\n");
}

static void programs__one_object_a_line(void **state)
{
    (void)state;
    struct listing listing;
    captured_start();
    listing_start(&listing, columns, 3, true);
    add_rows(&listing);
    listing_end(&listing);
    assert_string_equal(
        captured_end(),
        "{\"key\":\"cl\xc3\xa9\",\"remaining_ms\":125000,\"slot\":null}\n"
        "{\"key\":\"a "
        "\\\"b\\\"\\n\",\"remaining_ms\":0,\"slot\":\"2026-03-01T02:00:00.123456Z\"}\n");
}

static void any_bytes__text_and_base64(void **state)
{
    (void)state;
    struct listing listing;
    static const struct listing_column both[] = {{"text", "TEXT"}, {"base64", "BASE64"}};
    static const struct {
        const char *bytes;
        size_t count;
    } values[] = {{"", 0}, {"f", 1}, {"fo", 2}, {"foo", 3}, {"\0\377\376\n", 4}, {NULL, 0}};
    captured_start();
    listing_start(&listing, both, 2, true);
    for (size_t i = 0; i < CASE_COUNT(values); i++) {
        listing_bytes(&listing, values[i].bytes, values[i].count);
        listing_base64(&listing, values[i].bytes, values[i].count);
    }
    listing_end(&listing);
    assert_string_equal(
        captured_end(),
        "{\"text\":\"\",\"base64\":\"\"}\n"
        "{\"text\":\"f\",\"base64\":\"Zg==\"}\n"
        "{\"text\":\"fo\",\"base64\":\"Zm8=\"}\n"
        "{\"text\":\"foo\",\"base64\":\"Zm9v\"}\n"
        "{\"text\":\"\\u0000\xef\xbf\xbd\xef\xbf\xbd\\n\",\"base64\":\"AP/+Cg==\"}\n"
        "{\"text\":null,\"base64\":null}\n");
}

static void no_rows__nothing(void **state)
{
    (void)state;
    struct listing listing;
    captured_start();
    listing_start(&listing, columns, 3, false);
    listing_end(&listing);
    assert_string_equal(captured_end(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(people__aligned_columns),
        cmocka_unit_test(programs__one_object_a_line),
        cmocka_unit_test(any_bytes__text_and_base64),
        cmocka_unit_test(no_rows__nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
