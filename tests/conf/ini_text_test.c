/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "base/text.h"
#include "check.h"
#include "conf/ini_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    struct ini_text text;
    struct ini_faults faults;
};

static struct fixture parse_bytes(const char *bytes, size_t count)
{
    struct fixture fixture = {0};
    ini_text_parse(bytes, count, &fixture.text, &fixture.faults);
    return fixture;
}

static struct fixture parse(const char *string)
{
    return parse_bytes(string, strlen(string));
}

static void done(struct fixture *fixture)
{
    ini_text_done(&fixture->text);
    ini_faults_done(&fixture->faults);
}

static void expect_entry(const struct ini_text *text, size_t index, const char *section,
                         const char *key, const char *value, int line)
{
    assert_true(index < text->entry_count);
    const struct ini_entry *entry = &text->entries[index];
    const struct ini_section *own = text->sections;
    while (index >= own->first + own->count)
        own++;
    assert_string_equal(own->name, section);
    assert_string_equal(entry->key, key);
    assert_string_equal(entry->value, value);
    assert_int_equal(entry->line, line);
}

/* ---- what is right ----------------------------------------------------------------------- */

static const struct {
    const char *what;
    const char *text;
    const char *value; /* of [a] k */
    int line;
} good[] = {
    {"plain", "[a]\nk = v\n", "v", 2},
    {"no blanks", "[a]\nk=v\n", "v", 2},
    {"tabs", "[a]\nk\t=\tv\t\n", "v", 2},
    {"semicolon", "[a]\nk = a ; b\n", "a ; b", 2},
    {"hash", "[a]\nk = a # b\n", "a # b", 2},
    {"starts with a semicolon", "[a]\nk = ; x\n", "; x", 2},
    {"percent", "[a]\nk = date +%F\n", "date +%F", 2},
    {"equals in the value", "[a]\nk = a=b=c\n", "a=b=c", 2},
    {"colon in the value", "[a]\nk = http://x/#y\n", "http://x/#y", 2},
    {"quotes stay", "[a]\nk = \"a b\"\n", "\"a b\"", 2},
    {"backslash stays", "[a]\nk = a\\\nl = b\n", "a\\", 2},
    {"brackets in the value", "[a]\nk = [b]\n", "[b]", 2},
    {"UTF-8", "[a]\nk = cl\xc3\xa9\n", "cl\xc3\xa9", 2},
    {"byte order mark", "\xef\xbb\xbf[a]\nk = v\n", "v", 2},
    {"CRLF", "[a]\r\nk = v\r\n", "v", 2},
    {"no last newline", "[a]\nk = v", "v", 2},
    {"CRLF, no last newline", "[a]\r\nk = v\r", "v", 2},
    {"comments and blank lines", "# x\n; y\n\n[a] \n  # z\n   \nk = v\n", "v", 7},
};

static void right_texts__arrive_as_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(good); i++) {
        struct fixture fixture = parse(good[i].text);
        if (fixture.faults.count > 0)
            fail_msg("%s: %s", good[i].what, fixture.faults.faults[0].text);
        expect_entry(&fixture.text, 0, "a", "k", good[i].value, good[i].line);
        done(&fixture);
    }
}

static void sections_without_keys__are_there(void **state)
{
    (void)state;
    struct fixture fixture = parse("[a]\n[job nightly-report.v2]\n");
    assert_int_equal(fixture.text.section_count, 2);
    assert_string_equal(fixture.text.sections[1].name, "job nightly-report.v2");
    assert_int_equal(fixture.text.sections[1].line, 2);
    done(&fixture);
}

static void same_key_in_two_sections__two_entries(void **state)
{
    (void)state;
    struct fixture fixture = parse("[a]\nk=1\n[b]\nk=2\n");
    assert_int_equal(fixture.faults.count, 0);
    expect_entry(&fixture.text, 1, "b", "k", "2", 4);
    done(&fixture);
}

static char *with_long_value(size_t count)
{
    static const char head[] = "[a]\nk = ";
    size_t used = sizeof head - 1;
    char *text = mem_alloc(count + 100);
    memcpy(text, head, used);
    for (size_t i = 0; i < count; i++)
        text[used + i] = "x;#:= y"[i % 7];
    text[used + count - 1] = 'z';
    strcpy(text + used + count, "\nl = last\n");
    return text;
}

static void value_of_64_kib__arrives_whole(void **state)
{
    (void)state;
    char *text = with_long_value(INI_VALUE_MAX);
    struct fixture fixture = parse(text);
    assert_int_equal(fixture.faults.count, 0);
    assert_int_equal(strlen(fixture.text.entries[0].value), INI_VALUE_MAX);
    assert_memory_equal(fixture.text.entries[0].value, text + 8, INI_VALUE_MAX);
    expect_entry(&fixture.text, 1, "a", "l", "last", 3);
    done(&fixture);
    free(text);
    text = with_long_value(INI_VALUE_MAX + 1);
    fixture = parse(text);
    assert_int_equal(fixture.faults.count, 1);
    assert_int_equal(fixture.faults.faults[0].line, 2);
    expect_entry(&fixture.text, 0, "a", "l", "last", 3);
    done(&fixture);
    free(text);
}

static void long_comment__its_tail_defines_nothing(void **state)
{
    (void)state;
    char text[2000] = "[a]\n#";
    for (int length = 150; length < 450; length++) {
        size_t used = 5;
        memset(text + used, ' ', (size_t)length);
        used += (size_t)length;
        strcpy(text + used, "\x09[evil] command = rm\nk = v\n");
        struct fixture fixture = parse(text);
        assert_int_equal(fixture.faults.count, 0);
        assert_int_equal(fixture.text.section_count, 1);
        assert_int_equal(fixture.text.entry_count, 1);
        expect_entry(&fixture.text, 0, "a", "k", "v", 3);
        done(&fixture);
    }
}

/* ---- what is wrong ----------------------------------------------------------------------- */

#define N49 "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"

static const struct {
    const char *what;
    const char *text;
    int line;
    const char *said;
    size_t entry_count; /* that are left */
} bad[] = {
    {"key before any section", "k = v\n[a]\n", 1, "before the first [section]", 0},
    {"indented key", "[a]\nk = v\n l = w\n", 3, "begins with a blank", 1},
    {"indented section", "[a]\nk = v\n\t[b]\n", 3, "begins with a blank", 1},
    {"continuation", "[a]\nk = v\n   more\n", 3, "begins with a blank", 1},
    {"unclosed header", "[a]\nk = v\n[b\ncommand = x\n", 3, "\"]\" is missing", 1},
    {"comment in a header", "[a]\nk = v\n[b ;c]\ncommand = x\n", 3, "letters", 1},
    {"text behind a header", "[a] x\nk = v\n", 1, "behind \"]\"", 0},
    {"second bracket", "[a]]\nk = v\n", 1, "behind \"]\"", 0},
    {"no name", "[]\nk = v\n", 1, "no name", 0},
    {"name with a slash", "[a/b]\n", 1, "letters", 0},
    {"name with two blanks", "[job  x]\n", 1, "letters", 0},
    {"name with a blank at its end", "[a ]\n", 1, "letters", 0},
    {"section of 50 bytes", "[" N49 "n]\nk = v\n", 1, "at most 49 bytes", 0},
    {"job of 50 bytes", "[job " N49 "n]\nk = v\n", 1, "at most 49 bytes", 0},
    {"key of 50 bytes", "[a]\n" N49 "n = v\n", 2, "at most 49 bytes", 0},
    {"section twice", "[a]\n[b]\n[a]\nk = v\n", 3, "here and in line 1", 0},
    {"key twice", "[a]\nk = v\nl = w\nk = x\n", 4, "here and in line 2", 2},
    {"no separator", "[a]\nkey\n", 2, "neither", 0},
    {"colon separates", "[a]\nPATH:/x = y\n", 2, "\":\"", 0},
    {"no key", "[a]\n= v\n", 2, "no key", 0},
    {"no value", "[a]\nk =  \n", 2, "no value", 0},
    {"key with a bracket", "[a]\nk[0] = v\n", 2, "letters", 0},
    {"carriage returns alone", "[a]\rk = v\r", 1, "carriage return", 0},
    {"carriage return within", "[a]\nk = v\rw\n", 2, "carriage return", 0},
    {"UTF-16", "\xff\xfe[", 0, "UTF-16", 0},
    {"nothing", "", 0, "no [section]", 0},
    {"comments only", "# x\n\n", 0, "no [section]", 0},
};

static void faults__are_told_with_their_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(bad); i++) {
        struct fixture fixture = parse(bad[i].text);
        if (fixture.faults.count != 1 || fixture.faults.faults[0].line != bad[i].line ||
            strstr(fixture.faults.faults[0].text, bad[i].said) == NULL)
            fail_msg("%s: %zu faults, line %d: %s", bad[i].what, fixture.faults.count,
                     fixture.faults.count > 0 ? fixture.faults.faults[0].line : -1,
                     fixture.faults.count > 0 ? fixture.faults.faults[0].text : "");
        assert_int_equal(fixture.text.entry_count, bad[i].entry_count);
        done(&fixture);
    }
}

static void names_of_49_bytes__are_right(void **state)
{
    (void)state;
    struct fixture fixture = parse("[" N49 "]\n" N49 " = v\n[job " N49 "]\nk = w\n");
    assert_int_equal(fixture.faults.count, 0);
    expect_entry(&fixture.text, 0, N49, N49, "v", 2);
    expect_entry(&fixture.text, 1, "job " N49, "k", "w", 4);
    done(&fixture);
}

static void more_keys_than_any_section_has__told_once(void **state)
{
    (void)state;
    struct text text = TEXT_INIT;
    text_add(&text, "[a]\n");
    for (int i = 0; i < 100000; i++)
        text_addf(&text, "k%d = v\n", i);
    text_add(&text, "[b]\nk = v\n");
    struct fixture fixture = parse(text_string(&text));
    assert_int_equal(fixture.faults.count, 1);
    assert_int_equal(fixture.faults.faults[0].line, INI_KEYS_MAX + 2);
    expect_entry(&fixture.text, INI_KEYS_MAX, "b", "k", "v", 100003);
    done(&fixture);
    text_done(&text);
}

static void many_sections__are_told_apart_in_no_time(void **state)
{
    (void)state;
    struct text text = TEXT_INIT;
    for (int i = 0; i < 200000; i++)
        text_addf(&text, "[job n%d]\nk = v\n", i);
    text_add(&text, "[job n7]\n");
    struct fixture fixture = parse(text_string(&text));
    assert_int_equal(fixture.text.section_count, 200000);
    assert_int_equal(fixture.faults.count, 1);
    assert_non_null(strstr(fixture.faults.faults[0].text, "line 15:"));
    done(&fixture);
    text_done(&text);
}

static void nul__is_told_and_ends_the_reading(void **state)
{
    (void)state;
    static const char bytes[] = "[a]\nk = v\0w\nl = x\0\n";
    struct fixture fixture = parse_bytes(bytes, sizeof bytes - 1);
    assert_int_equal(fixture.faults.count, 1);
    assert_int_equal(fixture.faults.faults[0].line, 2);
    done(&fixture);
}

static void several_faults__all_in_one_go_by_line(void **state)
{
    (void)state;
    static const int lines[] = {2, 4, 5, 7};
    struct fixture fixture = parse("[a]\nx\nk = v\nk = w\n l\nm = n\n[b\n");
    assert_int_equal(fixture.faults.count, CASE_COUNT(lines));
    for (size_t i = 0; i < CASE_COUNT(lines); i++)
        assert_int_equal(fixture.faults.faults[i].line, lines[i]);
    done(&fixture);
}

/* ---- files ------------------------------------------------------------------------------- */

static char folder[] = "ini_text_test.XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/a.ini", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void write_file(const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    chmod(path, mode);
}

static void missing_file__a_fault_only_when_it_must_exist(void **state)
{
    (void)state;
    struct fixture fixture = {0};
    assert_true(ini_text_read("does/not/exist.ini", false, &fixture.text, &fixture.faults));
    assert_true(fixture.text.is_missing);
    assert_false(ini_text_read("does/not/exist.ini", true, &fixture.text, &fixture.faults));
    char *sentence = ini_faults_sentence(&fixture.faults, 0);
    assert_string_equal(sentence,
                        "does/not/exist.ini: the file cannot be opened: No such file or directory");
    free(sentence);
    done(&fixture);
}

static void folder_or_fifo__refused_at_once(void **state)
{
    (void)state;
    struct fixture fixture = {0};
    assert_false(ini_text_read(folder, false, &fixture.text, &fixture.faults));
    assert_non_null(strstr(fixture.faults.faults[0].text, "folder"));
    done(&fixture);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(ini_text_read(path, false, &fixture.text, &fixture.faults));
    assert_non_null(strstr(fixture.faults.faults[0].text, "regular"));
    done(&fixture);
    unlink(path);
}

static void file__is_read_with_line_in_the_sentence(void **state)
{
    (void)state;
    struct fixture fixture = {0};
    write_file("[a]\nk = v\nrubbish\n", 0644);
    assert_false(ini_text_read(path, true, &fixture.text, &fixture.faults));
    char wanted[200];
    snprintf(wanted, sizeof wanted, "%s:3: \"rubbish\" is neither [section] nor key = value", path);
    char *sentence = ini_faults_sentence(&fixture.faults, 0);
    assert_string_equal(sentence, wanted);
    free(sentence);
    done(&fixture);
}

static void writable_by_others__refused_for_root(void **state)
{
    (void)state;
    struct fixture fixture = {0};
    write_file("[a]\nk = v\n", 0666);
    assert_int_equal(ini_text_read(path, true, &fixture.text, &fixture.faults), geteuid() != 0);
    done(&fixture);
    write_file("[a]\nk = v\n", 0664);
    assert_int_equal(ini_text_read(path, true, &fixture.text, &fixture.faults), geteuid() != 0);
    done(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_texts__arrive_as_written),
        cmocka_unit_test(sections_without_keys__are_there),
        cmocka_unit_test(same_key_in_two_sections__two_entries),
        cmocka_unit_test(value_of_64_kib__arrives_whole),
        cmocka_unit_test(long_comment__its_tail_defines_nothing),
        cmocka_unit_test(faults__are_told_with_their_line),
        cmocka_unit_test(names_of_49_bytes__are_right),
        cmocka_unit_test(more_keys_than_any_section_has__told_once),
        cmocka_unit_test(many_sections__are_told_apart_in_no_time),
        cmocka_unit_test(nul__is_told_and_ends_the_reading),
        cmocka_unit_test(several_faults__all_in_one_go_by_line),
        cmocka_unit_test(missing_file__a_fault_only_when_it_must_exist),
        cmocka_unit_test(folder_or_fifo__refused_at_once),
        cmocka_unit_test(file__is_read_with_line_in_the_sentence),
        cmocka_unit_test(writable_by_others__refused_for_root),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
