/* SPDX-License-Identifier: ISC */
/* Writing to a descriptor that may be a pipe which nobody reads: stderr is whose it is. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Returns how many bytes were taken: all, unless there was no room for half a second or writing
 * failed. *is_stuck remembers the former: the next call then does not wait, until there was room
 * again. */
size_t bounded_write(int fd, bool *is_stuck, const char *bytes, size_t count);
