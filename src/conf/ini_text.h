/* SPDX-License-Identifier: ISC */
/* INI text to entries: [section], key = value, comments (; or #) on lines of their own. Values are
 * everything behind the first "=", less blanks around it: no quoting, no continuation, no comment
 * at a line's end, so that a shell command of up to 64 KiB arrives as it was written.
 *
 * What cannot be meant is a fault, and all faults of a file are gathered: indented lines, headers
 * that are not exactly [name], names over 49 bytes, a section or key that stands twice (both lines
 * are named), lines without "=", NUL bytes, lone carriage returns, UTF-16, folders, read errors. A
 * byte order mark of UTF-8, CRLF and a missing last newline are right. */
#pragma once
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define INI_NAME_MAX  49    /* bytes of a section's or key's name: what any inih keeps whole */
#define INI_VALUE_MAX 65536 /* bytes */

struct ini_section {
    char *name; /* "store", "job nightly" */
    int line;
};

struct ini_entry {
    size_t section; /* index into sections */
    char *key;
    char *value;
    int line;
};

struct ini_fault {
    int line; /* 0: of the file as a whole */
    char *text;
};

/* Kept apart from the entries, so that the faults of values join those of the text. */
struct ini_faults {
    char *path;
    struct ini_fault *faults; /* by line */
    size_t count;
};

struct ini_text {
    struct ini_section *sections; /* also those without keys */
    size_t section_count;
    struct ini_entry *entries; /* in the order of the file */
    size_t entry_count;
    bool is_missing; /* there is no such file; told as a fault only when must_exist */
    mode_t mode;     /* of the file */
};

/* Reads a file. Entries are complete only when no fault was added; those on faulty lines or under
 * a faulty header are left out. ini_text_done gives *ret_text back in any case. */
bool ini_text_read(const char *path, bool must_exist, struct ini_text *ret_text,
                   struct ini_faults *faults);

/* The same for bytes in memory, without the checks that need a file. */
bool ini_text_parse(const char *bytes, size_t count, struct ini_text *ret_text,
                    struct ini_faults *faults);
void ini_text_done(struct ini_text *text);

/* Adds a fault at its place by line. Always returns false. */
bool ini_faults_add(struct ini_faults *faults, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "FILE:LINE: sentence", "FILE: sentence" without a line. The caller frees. */
char *ini_faults_sentence(const struct ini_faults *faults, size_t index);
void ini_faults_done(struct ini_faults *faults);
