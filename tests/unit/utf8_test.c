/* SPDX-License-Identifier: ISC */
#include "base/utf8.h"
#include "check.h"

#include <string.h>

/* The boundaries of RFC 3629, and the forms it forbids. */
static const struct {
    const char *what;
    const char *bytes;
    size_t room;
    size_t length;
} characters[] = {
    {"nothing", "", 0, 0},
    {"NUL", "\0", 1, 1},
    {"ASCII", "a", 1, 1},
    {"U+007F", "\x7f", 1, 1},
    {"U+0080", "\xc2\x80", 2, 2},
    {"U+07FF", "\xdf\xbf", 2, 2},
    {"U+0800", "\xe0\xa0\x80", 3, 3},
    {"U+D7FF", "\xed\x9f\xbf", 3, 3},
    {"U+E000", "\xee\x80\x80", 3, 3},
    {"U+FFFF", "\xef\xbf\xbf", 3, 3},
    {"U+10000", "\xf0\x90\x80\x80", 4, 4},
    {"U+10FFFF", "\xf4\x8f\xbf\xbf", 4, 4},
    {"only the first counts", "\xc3\xa9x", 3, 2},
    {"past U+10FFFF", "\xf4\x90\x80\x80", 4, 0},
    {"five bytes", "\xf8\x88\x80\x80\x80", 5, 0},
    {"first surrogate", "\xed\xa0\x80", 3, 0},
    {"last surrogate", "\xed\xbf\xbf", 3, 0},
    {"overlong NUL", "\xc0\x80", 2, 0},
    {"overlong 2", "\xc1\xbf", 2, 0},
    {"overlong 3", "\xe0\x9f\xbf", 3, 0},
    {"overlong 4", "\xf0\x8f\xbf\xbf", 4, 0},
    {"a lone continuation", "\x80", 1, 0},
    {"cut after 1 of 2", "\xc3\xa9", 1, 0},
    {"cut after 2 of 3", "\xe2\x82\xac", 2, 0},
    {"cut after 3 of 4", "\xf0\x9f\x98\x80", 3, 0},
    {"second byte is ASCII", "\xc3(", 2, 0},
    {"0xff", "\xff", 1, 0},
};

static void utf8__every_form__has_the_length_of_the_standard(void **state)
{
    for (size_t i = 0; i < CASE_COUNT(characters); i++) {
        size_t length = utf8_char_length(characters[i].bytes, characters[i].room);
        if (length != characters[i].length)
            fail_msg("%s: %zu instead of %zu", characters[i].what, length, characters[i].length);
    }
}

static void bytes__whole__or_with_a_character_cut(void **state)
{
    (void)state;
    assert_true(utf8_is_whole("", 0));
    assert_true(utf8_is_whole("a\0\xc3\xa9\xf0\x9f\x98\x80", 8));
    assert_false(utf8_is_whole("\xa9 cut before", 12));
    assert_false(utf8_is_whole("cut behind \xc3", 12));
    assert_false(utf8_is_whole("a\xff", 2));
}

static void key__ordinary__is_taken_as_it_is(void **state)
{
    static const char *const keys[] = {"nightly", "a b",      "r\xc3\xa9sum\xc3\xa9", "../x",
                                       "k\tk",    "%s'\";--", "\xf0\x9f\x94\x92"};
    struct error err = {0};
    for (size_t i = 0; i < CASE_COUNT(keys); i++)
        assert_true(utf8_check_key(keys[i], &err));
}

static void key__refused__says_why_and_where(void **state)
{
    static const struct {
        const char *key, *says;
    } table[] = {
        {"", "empty"},
        {"two\nlines", "newline at byte 4"},
        {"ab\xff", "byte 3 is 0xff"},
        {"\xed\xa0\x80", "byte 1 is 0xed"},
    };
    for (size_t i = 0; i < CASE_COUNT(table); i++) {
        struct error err = {0};
        assert_false(utf8_check_key(table[i].key, &err));
        assert_int_equal(err.kind, ERROR_USAGE);
        assert_non_null(strstr(err.text, table[i].says));
    }
}

static void key__longest__is_taken_and_one_byte_more_is_not(void **state)
{
    char key[UTF8_KEY_MAX + 2];
    struct error err = {0};
    memset(key, 'k', sizeof key);
    key[UTF8_KEY_MAX] = '\0';
    assert_true(utf8_check_key(key, &err));
    key[UTF8_KEY_MAX] = 'k';
    key[UTF8_KEY_MAX + 1] = '\0';
    assert_false(utf8_check_key(key, &err));
    assert_non_null(strstr(err.text, "1025"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8__every_form__has_the_length_of_the_standard),
        cmocka_unit_test(bytes__whole__or_with_a_character_cut),
        cmocka_unit_test(key__ordinary__is_taken_as_it_is),
        cmocka_unit_test(key__refused__says_why_and_where),
        cmocka_unit_test(key__longest__is_taken_and_one_byte_more_is_not),
    };
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
