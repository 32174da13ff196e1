/* SPDX-License-Identifier: ISC */
/* Bytes to lines, however they are cut on their way. */
#include "check.h"
#include "command/command_lines.h"

#include <stdlib.h>
#include <string.h>

/* Everything told, one after the other: <line> for a line, <piece+ for a piece. */
static struct text told;
static int told_count;
static size_t longest;

static void on_line(void *owner, const struct command_line *line)
{
    assert_ptr_equal(owner, &told);
    assert_string_equal(line->stream, "stdout");
    assert_true(line->length <= COMMAND_LINE_MOST);
    told_count++;
    longest = line->length > longest ? line->length : longest;
    text_add_char(&told, '<');
    text_add_bytes(&told, line->bytes, line->length);
    text_add_char(&told, line->continues ? '+' : '>');
}

static struct command_lines begin(void)
{
    text_clear(&told);
    told_count = 0;
    longest = 0;
    return (struct command_lines){.stream = "stdout", .line = on_line, .owner = &told};
}

static void lines__in_one_piece__are_told_at_their_newlines(void **state)
{
    struct command_lines lines = begin();
    command_lines_add(&lines, "one\n\ntwo\nthr", 12);
    assert_string_equal(text_string(&told), "<one><><two>");
    command_lines_add(&lines, "ee", 2);
    command_lines_end(&lines);
    assert_string_equal(text_string(&told), "<one><><two><three>");
}

static void lines__byte_by_byte__are_the_same(void **state)
{
    static const char bytes[] = "a\0b\n\xff\xfe\n\n\xe2\x82\xac\nlast";
    static const char expected[] = "<a\0b><\xff\xfe><><\xe2\x82\xac><last>";
    struct command_lines lines = begin();
    for (size_t i = 0; i < sizeof bytes - 1; i++)
        command_lines_add(&lines, bytes + i, 1);
    command_lines_end(&lines);
    assert_int_equal(told.length, sizeof expected - 1);
    assert_memory_equal(told.bytes, expected, sizeof expected - 1);
}

static void lines__nothing_or_a_newline_at_the_end__no_line_more(void **state)
{
    struct command_lines lines = begin();
    command_lines_end(&lines);
    assert_int_equal(told_count, 0);
    command_lines_add(&lines, "x\n", 2);
    command_lines_end(&lines);
    assert_int_equal(told_count, 1);
}

/* Feeds count times the same byte and then the end, so many at a time. */
static void feed(struct command_lines *lines, size_t count, const char *end, size_t step)
{
    char *bytes = malloc(count + strlen(end) + 1);
    size_t all = count + strlen(end);
    memset(bytes, 'x', count);
    memcpy(bytes + count, end, strlen(end));
    for (size_t at = 0; at < all; at += step)
        command_lines_add(lines, bytes + at, all - at < step ? all - at : step);
    free(bytes);
}

static void line__of_the_greatest_length__is_whole_and_one_byte_more_is_not(void **state)
{
    static const size_t steps[] = {1, 1000, 65535, 65536, 65537, 200000};
    for (size_t i = 0; i < CASE_COUNT(steps); i++) {
        struct command_lines lines = begin();
        feed(&lines, COMMAND_LINE_MOST, "\n", steps[i]);
        assert_int_equal(told_count, 1);
        assert_int_equal(longest, COMMAND_LINE_MOST);
        assert_int_equal(told.bytes[told.length - 1], '>');
        feed(&lines, COMMAND_LINE_MOST + 1, "\n", steps[i]);
        assert_int_equal(told_count, 3);
        assert_string_equal(told.bytes + told.length - 5, "x+<x>");
        command_lines_end(&lines);
        assert_int_equal(told_count, 3);
    }
}

static void piece__breaks_between_characters_where_there_are_any(void **state)
{
    static const char *const ends[] = {"\xc3\xa4y\n", "\xe2\x82\xacy\n", "\xf0\x9f\x98\x80y\n"};
    for (size_t i = 0; i < CASE_COUNT(ends); i++) {
        size_t length = strlen(ends[i]) - 2;
        for (size_t before = 1; before < length; before++) {
            struct command_lines lines = begin();
            feed(&lines, COMMAND_LINE_MOST - before, ends[i], 65536);
            assert_int_equal(told_count, 2);
            char *second = memchr(told.bytes, '+', told.length);
            assert_int_equal(second - told.bytes - 1, (int)(COMMAND_LINE_MOST - before));
            assert_memory_equal(second + 2, ends[i], length + 1);
            command_lines_end(&lines);
        }
    }
}

static void piece__of_bytes_that_are_no_characters__is_full(void **state)
{
    struct command_lines lines = begin();
    char *bytes = malloc(COMMAND_LINE_MOST * 3);
    memset(bytes, 0x80, COMMAND_LINE_MOST * 3);
    command_lines_add(&lines, bytes, COMMAND_LINE_MOST * 3);
    command_lines_end(&lines);
    free(bytes);
    assert_int_equal(told_count, 3);
    assert_int_equal(longest, COMMAND_LINE_MOST);
}

static int give_back(void **state)
{
    text_done(&told);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines__in_one_piece__are_told_at_their_newlines),
        cmocka_unit_test(lines__byte_by_byte__are_the_same),
        cmocka_unit_test(lines__nothing_or_a_newline_at_the_end__no_line_more),
        cmocka_unit_test(line__of_the_greatest_length__is_whole_and_one_byte_more_is_not),
        cmocka_unit_test(piece__breaks_between_characters_where_there_are_any),
        cmocka_unit_test(piece__of_bytes_that_are_no_characters__is_full),
    };
    return cmocka_run_group_tests(tests, NULL, give_back);
}
