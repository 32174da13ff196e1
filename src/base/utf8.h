/* SPDX-License-Identifier: ISC */
/* Names that go into a store: keys, jobs, steps. */
#pragma once
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define UTF8_KEY_MAX 1024 /* bytes; longer ones do not fit an index entry beside the rest */

/* Length in bytes of the valid UTF-8 character at the start of text (at most room bytes), 0 when
 * there is none: no surrogates, no overlong forms, nothing past U+10FFFF (RFC 3629). */
size_t utf8_char_length(const char *text, size_t room);

bool utf8_is_whole(const char *bytes,
                   size_t count); /* nothing but valid characters, NUL included */

/* True when the key is 1 to UTF8_KEY_MAX bytes of UTF-8 without newline. Keys are never changed,
 * folded or normalised: two that differ in a byte are two keys. */
bool utf8_check_key(const char *key, struct error *err);
