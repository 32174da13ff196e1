/* SPDX-License-Identifier: ISC */
/* A line as words, quoted as for a shell: blanks part words; '...' keeps everything, "..." all
 * but \" \\ \$ \`; a backslash outside of quotes keeps the next character. Nothing is expanded. */
#pragma once
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* A NULL-terminated array in one piece of memory, which the caller frees; *ret_count may be NULL.
 * Returns NULL (ERROR_CONFIG) when a quote has no end or a backslash nothing after it. */
char **words_split(const char *line, size_t *ret_count, struct error *err);

/* The same for NAME=VALUE words alone. The sentence on one that is none does not quote it: it may
 * be a secret. */
char **words_split_assignments(const char *line, struct error *err);

/* Whether it is NAME=VALUE with what a shell takes for a variable's name; others could be set, but
 * never read by one. */
bool words_is_assignment(const char *word);
