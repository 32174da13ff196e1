/* SPDX-License-Identifier: ISC */
#include "log/escape.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static uint32_t decode(const char *at, size_t length)
{
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t value = (unsigned char)at[0] & lead_bits[length];
    for (size_t i = 1; i < length; i++)
        value = value << 6 | ((unsigned char)at[i] & 0x3f);
    return value;
}

/* C0, DEL and C1; U+2028 U+2029 break lines; the others reorder what a terminal shows. */
static bool is_hostile(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

static void add_hostile(struct text *out, uint32_t c)
{
    switch (c) {
    case '\n':
        text_add(out, "\\n");
        break;
    case '\r':
        text_add(out, "\\r");
        break;
    case '\t':
        text_add(out, "\\t");
        break;
    default:
        text_addf(out, "\\u%04x", (unsigned)c);
    }
}

static void add_escaped(struct text *out, const char *string, bool is_quoted)
{
    size_t room = strlen(string);
    for (const char *at = string; room > 0;) {
        size_t length = utf8_char_length(at, room);
        uint32_t c = length == 0 ? 0xfffd : decode(at, length);
        if (length == 0)
            text_add(out, "\xef\xbf\xbd");
        else if (is_hostile(c))
            add_hostile(out, c);
        else if (is_quoted && (c == '"' || c == '\\'))
            text_addf(out, "\\%c", (char)c);
        else
            text_add_bytes(out, at, length);
        length = length == 0 ? 1 : length;
        at += length;
        room -= length;
    }
}

void escape_json(struct text *out, const char *string)
{
    text_add_char(out, '"');
    add_escaped(out, string, true);
    text_add_char(out, '"');
}

void escape_plain(struct text *out, const char *string)
{
    add_escaped(out, string, false);
}

static bool needs_quotes(const char *string)
{
    if (*string == '\0')
        return true;
    for (; *string != '\0'; string++) {
        unsigned char c = (unsigned char)*string;
        if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
            return true;
    }
    return false;
}

void escape_logfmt(struct text *out, const char *string)
{
    if (needs_quotes(string))
        escape_json(out, string);
    else
        text_add(out, string);
}
