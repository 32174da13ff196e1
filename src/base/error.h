/* SPDX-License-Identifier: ISC */
/* A fault as a value: what kind it is, and one finished sentence that a person can act on.
 * Owned by the caller, needs no freeing. A function either fills an error or logs, never both. */
#pragma once
#include <stdbool.h>

enum error_kind {
    ERROR_NONE = 0,
    ERROR_USAGE,  /* what was typed makes no sense: exit 64 */
    ERROR_STORE,  /* the store does not answer or refuses: exit 69 */
    ERROR_SYSTEM, /* the operating system refused: exit 71 */
    ERROR_OUTPUT, /* what was asked for could not be printed: exit 74 */
    ERROR_CONFIG, /* a file, a missing schema or right: exit 78 */
};

struct error {
    enum error_kind kind;
    char sqlstate[6]; /* of the store's answer, "" when there is none */
    char text[1024];  /* one sentence, no newline; cut with "..." when longer */
};

/* Fills *err. Always returns false, so that a line can both report and fail. */
bool error_set(struct error *err, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Like error_set, and adds ": " and strerror(errno_value). */
bool error_set_errno(struct error *err, enum error_kind kind, int errno_value, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));

/* Puts "format: " before the sentence that is already there. Returns false. */
bool error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Folds control characters and newlines of a foreign text (libpq's, SQLite's) into one line. */
void error_fold_line(char *text);
