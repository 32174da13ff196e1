/* SPDX-License-Identifier: ISC */
/* A growable string. A zeroed struct text (TEXT_INIT) is the empty one; text_done gives the
 * memory back. Bytes may contain NUL; the byte after the last is always NUL. */
#pragma once
#include <stddef.h>

struct text {
    char *bytes; /* NULL while empty: read it through text_string */
    size_t length;
    size_t room;
};

#define TEXT_INIT                                                                                  \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }

void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t count);
void text_add_char(struct text *text, char c);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_clear(struct text *text); /* keeps the memory */
void text_done(struct text *text);
const char *text_string(const struct text *text); /* "" when empty; lives until the next change */
char *text_detach(struct text *text);             /* the caller frees; the text is empty after */

#define TEXT_AUTODONE __attribute__((cleanup(text_done)))
