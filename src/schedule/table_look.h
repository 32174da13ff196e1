/* SPDX-License-Identifier: ISC */
/* Whether a job table's files are still the ones that were read: a number made of what stat(2)
 * says of each of them, and of each *.ini of those that are folders. Symbolic links are followed.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

uint64_t table_look(char *const *files, size_t count);
