/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "conf/words.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *line;
    const char *words[5]; /* none: it is refused */
} cases[] = {
    {"a", {"a"}},
    {"  a\tb  ", {"a", "b"}},
    {"'a b' \"c d\"", {"a b", "c d"}},
    {"a'b'\"c\"d", {"abcd"}},
    {"'' \"\"", {"", ""}},
    {"a\\ b \\'c", {"a b", "'c"}},
    {"'\\' \"\\\"\\\\\\$\\`\\n\"", {"\\", "\"\\$`\\n"}},
    {"$HOME `x` ~ * ; # %", {"$HOME", "`x`", "~", "*", ";"}},
    {"'a", {NULL}},
    {"\"a", {NULL}},
    {"\"a\\", {NULL}},
    {"a\\", {NULL}},
};

static void lines__become_words_as_a_shell_would_quote_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(cases); i++) {
        struct error error;
        size_t count = 99;
        char **words = words_split(cases[i].line, &count, &error);
        assert_int_equal(words == NULL, cases[i].words[0] == NULL);
        for (size_t k = 0; words != NULL && k < 5 && cases[i].words[k] != NULL; k++)
            assert_string_equal(words[k], cases[i].words[k]);
        free(words);
    }
}

static void only_blanks__no_word(void **state)
{
    (void)state;
    struct error error;
    size_t count = 99;
    char **words = words_split(" \t", &count, &error);
    assert_int_equal(count, 0);
    assert_null(words[0]);
    free(words);
}

static void assignments__have_a_name(void **state)
{
    (void)state;
    static const char *const bad[] = {"=x", "A", "1A=x", "A-B=x", "A=x B"};
    struct error error;
    char **words = words_split_assignments("A=1 _b2='x y' C=", &error);
    assert_string_equal(words[1], "_b2=x y");
    free(words);
    for (size_t i = 0; i < CASE_COUNT(bad); i++)
        assert_null(words_split_assignments(bad[i], &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines__become_words_as_a_shell_would_quote_them),
        cmocka_unit_test(only_blanks__no_word),
        cmocka_unit_test(assignments__have_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
