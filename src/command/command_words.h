/* SPDX-License-Identifier: ISC */
/* A line as words, quoted as for a shell: blanks part words; '...' keeps everything, "..." all
 * but \" \\ \$ \`; a backslash outside of quotes keeps the next character. Nothing is expanded. */
#pragma once
#include "base/error.h"

#include <stddef.h>

/* A NULL-terminated array in one piece of memory, which the caller frees; *ret_count may be NULL.
 * Returns NULL (ERROR_CONFIG) when a quote has no end or a backslash nothing after it. */
char **command_words_split(const char *line, size_t *ret_count, struct error *err);
