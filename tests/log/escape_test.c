/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "log/escape.h"

#include <string.h>

static const struct {
    const char *raw;
    const char *json;
    const char *logfmt;
    const char *plain;
} rows[] = {
    {"", "\"\"", "\"\"", ""},
    {"word", "\"word\"", "word", "word"},
    {"two words", "\"two words\"", "\"two words\"", "two words"},
    {"a=b", "\"a=b\"", "\"a=b\"", "a=b"},
    {"say \"x\"", "\"say \\\"x\\\"\"", "\"say \\\"x\\\"\"", "say \"x\""},
    {"back\\slash", "\"back\\\\slash\"", "\"back\\\\slash\"", "back\\slash"},
    {"line\nfeed", "\"line\\nfeed\"", "\"line\\nfeed\"", "line\\nfeed"},
    {"cr\rtab\t", "\"cr\\rtab\\t\"", "\"cr\\rtab\\t\"", "cr\\rtab\\t"},
    {"\x1b[31mred", "\"\\u001b[31mred\"", "\"\\u001b[31mred\"", "\\u001b[31mred"},
    {"\x01\x7f", "\"\\u0001\\u007f\"", "\"\\u0001\\u007f\"", "\\u0001\\u007f"},
    {"cl\xc3\xa9", "\"cl\xc3\xa9\"", "\"cl\xc3\xa9\"", "cl\xc3\xa9"},
    {"c1 \xc2\x9b", "\"c1 \\u009b\"", "\"c1 \\u009b\"", "c1 \\u009b"},
    {"\xe2\x80\xa8", "\"\\u2028\"", "\"\\u2028\"", "\\u2028"},
    {"\xe2\x80\xae", "\"\\u202e\"", "\"\\u202e\"", "\\u202e"},
    {"bad \xff\xc3", "\"bad \xef\xbf\xbd\xef\xbf\xbd\"", "\"bad \xef\xbf\xbd\xef\xbf\xbd\"",
     "bad \xef\xbf\xbd\xef\xbf\xbd"},
    {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
     "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
};

static void foreign_text__comes_out_harmless(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(rows); i++) {
        struct text out = TEXT_INIT;
        escape_json(&out, rows[i].raw);
        assert_string_equal(text_string(&out), rows[i].json);
        text_clear(&out);
        escape_logfmt(&out, rows[i].raw);
        assert_string_equal(text_string(&out), rows[i].logfmt);
        text_clear(&out);
        escape_plain(&out, rows[i].raw);
        assert_string_equal(text_string(&out), rows[i].plain);
        text_done(&out);
    }
}

static void every_byte__stays_one_line(void **state)
{
    (void)state;
    char all[256];
    for (int i = 1; i < 256; i++)
        all[i - 1] = (char)i;
    all[255] = '\0';
    struct text out = TEXT_INIT;
    escape_json(&out, all);
    for (size_t i = 0; i < out.length; i++)
        assert_true((unsigned char)out.bytes[i] >= 0x20 && out.bytes[i] != 0x7f);
    text_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_text__comes_out_harmless),
        cmocka_unit_test(every_byte__stays_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
