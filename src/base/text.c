/* SPDX-License-Identifier: ISC */
#include "base/text.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make_room(struct text *text, size_t more)
{
    size_t wanted = text->length + more + 1;
    if (wanted <= text->room)
        return;
    size_t room = text->room < 64 ? 64 : text->room;
    while (room < wanted)
        room *= 2;
    text->bytes = mem_grow(text->bytes, room, 1);
    text->room = room;
}

void text_add_bytes(struct text *text, const void *bytes, size_t count)
{
    make_room(text, count);
    if (count > 0)
        memcpy(text->bytes + text->length, bytes, count);
    text->length += count;
    text->bytes[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_add_char(struct text *text, char c)
{
    text_add_bytes(text, &c, 1);
}

void text_addf(struct text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length > 0) {
        make_room(text, (size_t)length);
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void text_clear(struct text *text)
{
    text->length = 0;
    if (text->bytes != NULL)
        text->bytes[0] = '\0';
}

void text_done(struct text *text)
{
    free(text->bytes);
    *text = (struct text)TEXT_INIT;
}

const char *text_string(const struct text *text)
{
    return text->bytes == NULL ? "" : text->bytes;
}

char *text_detach(struct text *text)
{
    char *bytes = text->bytes == NULL ? mem_strdup("") : text->bytes;
    *text = (struct text)TEXT_INIT;
    return bytes;
}
