/* SPDX-License-Identifier: ISC */
/* Foreign text in a line of ours: whatever its bytes, the line stays one line, is valid UTF-8 and
 * drives no terminal. Control characters, line and paragraph separators and changes of writing
 * direction become \n \t \u001b ...; bytes that are no UTF-8 become U+FFFD. */
#pragma once
#include "base/text.h"

/* "..." as JSON wants it (RFC 8259). */
void escape_json(struct text *out, const char *string);
void escape_json_bytes(struct text *out, const char *bytes, size_t count);

/* As it is where nothing needs quoting, else like escape_json. */
void escape_logfmt(struct text *out, const char *string);
void escape_logfmt_bytes(struct text *out, const char *bytes, size_t count);

/* For people: no quotes, backslashes as they are. */
void escape_plain(struct text *out, const char *string);
void escape_plain_bytes(struct text *out, const char *bytes, size_t count);
