/* SPDX-License-Identifier: ISC */
#include "base/text.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

static void text__empty__reads_as_empty_string(void **state)
{
    struct text text = TEXT_INIT;
    assert_string_equal(text_string(&text), "");
    text_done(&text);
    text_done(&text); /* twice does no harm */
}

static void text__added_in_parts__is_the_whole(void **state)
{
    TEXT_AUTODONE struct text text = TEXT_INIT;
    text_add(&text, "key ");
    text_add_char(&text, '=');
    text_addf(&text, " %s/%d", "nightly", 42);
    assert_string_equal(text_string(&text), "key = nightly/42");
    assert_int_equal(text.length, strlen("key = nightly/42"));
}

static void text__nul_bytes__are_kept(void **state)
{
    TEXT_AUTODONE struct text text = TEXT_INIT;
    text_add_bytes(&text, "a\0b", 3);
    text_add_bytes(&text, "\0", 1);
    assert_int_equal(text.length, 4);
    assert_memory_equal(text.bytes, "a\0b\0", 5);
}

static void text__nothing_added__is_still_a_string(void **state)
{
    TEXT_AUTODONE struct text text = TEXT_INIT;
    text_add(&text, "");
    text_addf(&text, "%s", "");
    assert_int_equal(text.length, 0);
    assert_string_equal(text_string(&text), "");
}

static void text__long__grows_without_losing_a_byte(void **state)
{
    TEXT_AUTODONE struct text text = TEXT_INIT;
    for (int i = 0; i < 70000; i++)
        text_add_char(&text, (char)('a' + i % 26));
    assert_int_equal(text.length, 70000);
    for (size_t i = 0; i < text.length; i++)
        assert_int_equal(text.bytes[i], 'a' + (int)(i % 26));
    assert_int_equal(text.bytes[text.length], '\0');
}

static void text__long_format__is_not_cut(void **state)
{
    TEXT_AUTODONE struct text text = TEXT_INIT;
    text_addf(&text, "%05000d", 7);
    assert_int_equal(text.length, 5000);
    assert_int_equal(text.bytes[4999], '7');
}

static void text__cleared__is_empty_and_can_be_filled_again(void **state)
{
    TEXT_AUTODONE struct text text = TEXT_INIT;
    text_clear(&text);
    text_add(&text, "first");
    text_clear(&text);
    assert_string_equal(text_string(&text), "");
    text_add(&text, "second");
    assert_string_equal(text_string(&text), "second");
}

static void text__detached__belongs_to_the_caller(void **state)
{
    struct text text = TEXT_INIT;
    text_add(&text, "mine");
    char *mine = text_detach(&text);
    assert_string_equal(mine, "mine");
    assert_null(text.bytes);
    assert_int_equal(text.length, 0);
    free(mine);
    char *empty = text_detach(&text);
    assert_string_equal(empty, "");
    free(empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text__empty__reads_as_empty_string),
        cmocka_unit_test(text__added_in_parts__is_the_whole),
        cmocka_unit_test(text__nul_bytes__are_kept),
        cmocka_unit_test(text__nothing_added__is_still_a_string),
        cmocka_unit_test(text__long__grows_without_losing_a_byte),
        cmocka_unit_test(text__long_format__is_not_cut),
        cmocka_unit_test(text__cleared__is_empty_and_can_be_filled_again),
        cmocka_unit_test(text__detached__belongs_to_the_caller),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
