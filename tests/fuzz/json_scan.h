/* SPDX-License-Identifier: ISC */
/* A strict reader of the JSON that leaserun writes: one object of strings and whole numbers, no
 * blanks, no name twice (RFC 8259). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* True when text, all of it, is such an object. */
bool json_is_object(const char *text);

/* The value of a string member, unescaped. The caller frees; NULL when there is none. */
char *json_member(const char *text, const char *name);

/* Reads "..." with its escapes at *at and moves it behind. The caller frees; NULL when that is not
 * what stands there. */
char *json_read_string(const char **at);
