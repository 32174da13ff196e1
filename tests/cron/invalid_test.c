/* SPDX-License-Identifier: ISC */
/* Expressions that are refused: data/invalid.tsv, with the reason and the implementations that
 * refuse and accept them. The sentence must name the field, and say what is wrong. */
#include "check.h"
#include "cron/cron.h"
#include "lines.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *reason;
    const char *said[8]; /* one of these */
} sentences[] = {
    {"clock-time", {"field", "hour \"", "minute \"", "second \"", "interval \""}},
    {"control-character", {"control character"}},
    {"empty-list-item", {"item of the list is empty"}},
    {"every-bad-duration", {"interval \"", "unknown name"}},
    {"ext-L", {"takes numbers", "does not belong", "is no name", "must be", "number is missing"}},
    {"ext-W", {"takes numbers", "does not belong", "is no name", "must be"}},
    {"ext-nth", {"behind \"#\"", "does not belong", "must be"}},
    {"junk-character", {"does not belong", "takes numbers", "is no name", "time of day"}},
    {"junk-range", {"does not belong", "number is missing"}},
    {"junk-step", {"step behind \"/\"", "does not belong"}},
    {"macro-case", {"lower case"}},
    {"name-in-wrong-field", {"takes numbers", "is no name"}},
    {"number-overflow", {"must be"}},
    {"out-of-range", {"must be"}},
    {"overlong",
     {"longer than", "must be", "fields", "field", "unknown name", "is no name", "behind \"#\""}},
    {"quoted", {"quotes"}},
    {"reversed-dow-range", {"runs backwards: write"}},
    {"reversed-range", {"runs backwards: write"}},
    {"seconds-out-of-range", {"second \""}},
    {"seven-fields", {"no field for years; without it write"}},
    {"six-fields-junk", {"\": "}},
    {"six-fields-out-of-range", {"must be"}},
    {"step-0", {"step of 0"}},
    {"step-overflow", {"step is too large"}},
    {"step-without-a-range", {"a step needs a range: write"}},
    {"too-few-fields", {"field", "schedule is empty"}},
    {"too-many-fields", {"fields"}},
    {"unicode-character", {"not ASCII"}},
    {"unicode-digit", {"not ASCII"}},
    {"unicode-space", {"not ASCII"}},
    {"unknown-macro",
     {"unknown name", "nothing may follow", "stands alone", ": write @", "is no name"}},
    {"unknown-name", {"is no name"}},
    {"year-as-sixth-field", {"no field for years; without it write"}},
};

static const char *const field_names[] = {"second",       "minute", "hour",
                                          "day of month", "month",  "weekday"};

static bool says_the_reason(const char *reason, const char *sentence)
{
    for (size_t i = 0; i < CASE_COUNT(sentences); i++)
        for (const char *const *said = sentences[i].said; *said != NULL; said++)
            if (strcmp(sentences[i].reason, reason) == 0 && strstr(sentence, *said) != NULL)
                return true;
    return false;
}

/* With a star in place of that one of its fields. */
static void mend(const char *text, int field, char *ret_text)
{
    int number = 0;
    for (const char *at = text; *at != '\0'; number++) {
        size_t length = strcspn(at, " \t");
        ret_text +=
            number == field ? sprintf(ret_text, "* ") : sprintf(ret_text, "%.*s ", (int)length, at);
        at += length;
        at += strspn(at, " \t");
    }
}

/* The name of the one field without which the schedule is good; NULL when it is not as easy. */
static const char *bad_field(const char *text)
{
    const char *found = NULL;
    int count = 0, spaces = 0;
    for (const char *at = text; *at != '\0'; at++)
        spaces += *at == ' ';
    for (int field = 0; (spaces == 4 || spaces == 5) && field <= spaces; field++) {
        char mended[4 * CRON_EXPRESSION_MAX];
        struct cron cron;
        struct error error;
        mend(text, field, mended);
        if (!cron_parse(mended, "", &cron, &error))
            continue;
        found = field_names[field + (spaces == 4)];
        count++;
    }
    return count == 1 ? found : NULL;
}

static bool is_refused_as_it_should(const struct lines *lines, bool *ret_has_field)
{
    struct cron cron = {.minutes = 42};
    struct error error = {0};
    const char *text = lines->columns[0];
    const char *field = strlen(text) < CRON_EXPRESSION_MAX ? bad_field(text) : NULL;
    bool is_refused = !cron_parse(text, "", &cron, &error);
    bool names_it = field == NULL || strstr(error.text, "for years") != NULL ||
                    strncmp(error.text, "nothing may follow", 18) == 0 ||
                    strncmp(error.text, field, strlen(field)) == 0;
    *ret_has_field = field != NULL;
    if (is_refused && names_it && error.kind == ERROR_CONFIG && cron.minutes == 42 &&
        says_the_reason(lines->columns[1], error.text))
        return true;
    print_error("%s:%d: %.60s: %s, said: %s\n", lines->path, lines->number, text, lines->columns[1],
                is_refused ? error.text : "nothing");
    return false;
}

static void every_invalid_row__is_refused_with_field_and_reason(void **state)
{
    (void)state;
    struct lines lines;
    int bad = 0, with_field = 0;
    lines_open(&lines, "invalid.tsv");
    while (lines_next(&lines, 2)) {
        bool has_field;
        bad += !is_refused_as_it_should(&lines, &has_field);
        with_field += has_field;
    }
    assert_int_equal(lines.row_count, 504);
    lines_close(&lines);
    assert_int_equal(bad, 0);
    assert_true(with_field > 300);
}

/* What a person gets to read, to the letter. */
static const struct {
    const char *text, *said;
} readings[] = {
    {"0 24 * * *", "hour \"24\": must be 0 to 23"},
    {"5/15 * * * *", "minute \"5/15\": a step needs a range: write 5-59/15"},
    {"0 22-2 * * *", "hour \"22-2\": the range runs backwards: write 22-23,0-2"},
    {"0 0 * nov-feb *", "month \"nov-feb\": the range runs backwards: write 11-12,1-2"},
    {"0 0 * * sat-mon", "weekday \"sat-mon\": the range runs backwards: write 6-7,1"},
    {"0 0 * * monday",
     "weekday \"monday\": \"monday\" is no name there: sun to sat, three letters each"},
    {"0 0 1 1 * 2030", "\"2030\" at the end: a schedule has no field for years; without it write "
                       "\"0 0 1 1 *\""},
    {"0 0 12 * * 1-5 *", "\"*\" at the end: a schedule has no field for years; without it write "
                         "\"0 0 12 * * 1-5\""},
    {"daily", "\"daily\": write @daily"},
    {"@Daily", "\"@Daily\" is written in lower case: @daily"},
    {"every 1d", "interval \"1d\": write numbers with units h m s, as in 90s, 1h30m, 24h"},
    {"every 500ms", "interval \"500ms\": must be at least 1s"},
    {"every 1500ms", "interval \"1500ms\": must be whole seconds"},
    {"0 12:00 * * *", "hour \"12:00\": a time of day is two fields: minute, then hour"},
    {"", "the schedule is empty"},
};

static void mistakes__are_told_with_their_mend(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(readings); i++) {
        struct cron cron;
        struct error error;
        assert_false(cron_parse(readings[i].text, "", &cron, &error));
        assert_string_equal(error.text, readings[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_invalid_row__is_refused_with_field_and_reason),
        cmocka_unit_test(mistakes__are_told_with_their_mend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
