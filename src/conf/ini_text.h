/* SPDX-License-Identifier: ISC */
/* INI text to entries: [section], key = value, comments (; or #) on lines of their own. Values are
 * everything behind the first "=", less blanks around it: no quoting, no continuation, no comment
 * at a line's end, so that a shell command of up to 64 KiB arrives as it was written.
 *
 * What cannot be meant is a fault, and all faults of a file are gathered: indented lines, headers
 * that are not exactly [name], a key or a word of a name over 49 bytes, a section or key that
 * stands twice (both lines are named), lines without "=", NUL bytes, lone carriage returns, UTF-16,
 * folders, read errors. A byte order mark of UTF-8, CRLF and a missing last newline are right.
 */
#pragma once
#include "base/error.h"
#include "conf/ini_faults.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define INI_WORD_MAX  49    /* bytes of a key, and of each word of a section's name */
#define INI_VALUE_MAX 65536 /* bytes */
#define INI_KEYS_MAX  256   /* in a section */

/* Names and values lie in ini_text's bytes. */
struct ini_section {
    const char *name; /* "store", "job nightly" */
    int line;
    size_t first, count; /* of its entries */
    bool is_incomplete;  /* a line of it had a fault, and was left out */
};

struct ini_entry {
    const char *key;
    const char *value;
    int line;
};

struct ini_text {
    char *bytes; /* wiped at the end: a value may be a secret */
    size_t byte_count;
    struct ini_section *sections; /* also those without keys */
    size_t section_count, section_room;
    struct ini_entry *entries; /* in the order of the file */
    size_t entry_count, entry_room;
    bool is_missing; /* there is no such file; told as a fault only when must_exist */
    mode_t mode;     /* of the file */
};

/* Reads a file, the next one of *faults. Entries are complete only when no fault was added; those
 * on faulty lines or under a faulty header are left out. ini_text_done gives *ret_text back in any
 * case. */
bool ini_text_read(const char *path, bool must_exist, struct ini_text *ret_text,
                   struct ini_faults *faults);

/* The same for bytes in memory, without the checks that need a file. */
bool ini_text_parse(const char *bytes, size_t count, struct ini_text *ret_text,
                    struct ini_faults *faults);
void ini_text_done(struct ini_text *text);

/* Whether it can be a key, or a word of a section's name: letters, digits, ".", "_" and "-". */
bool ini_text_is_word(const char *word);
