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

/* How many stand at the start of bytes that are written as they are. */
static size_t plain_length(const char *bytes, size_t count)
{
    size_t length = 0;
    while (length < count && bytes[length] >= ' ' && bytes[length] < 0x7f && bytes[length] != '"' &&
           bytes[length] != '\\')
        length++;
    return length;
}

static void add_escaped(struct text *out, const char *bytes, size_t count, bool is_quoted)
{
    const char *end = bytes + count;
    for (const char *at = bytes; at < end;) {
        size_t plain = plain_length(at, (size_t)(end - at));
        text_add_bytes(out, at, plain);
        at += plain;
        if (at == end)
            break;
        size_t length = utf8_char_length(at, (size_t)(end - at));
        uint32_t c = length == 0 ? 0xfffd : decode(at, length);
        if (length == 0)
            text_add(out, "\xef\xbf\xbd");
        else if (is_hostile(c))
            add_hostile(out, c);
        else if (is_quoted && (c == '"' || c == '\\'))
            text_addf(out, "\\%c", (char)c);
        else
            text_add_bytes(out, at, length);
        at += length == 0 ? 1 : length;
    }
}

void escape_json_bytes(struct text *out, const char *bytes, size_t count)
{
    text_add_char(out, '"');
    add_escaped(out, bytes, count, true);
    text_add_char(out, '"');
}

void escape_json(struct text *out, const char *string)
{
    escape_json_bytes(out, string, strlen(string));
}

void escape_plain_bytes(struct text *out, const char *bytes, size_t count)
{
    add_escaped(out, bytes, count, false);
}

void escape_plain(struct text *out, const char *string)
{
    escape_plain_bytes(out, string, strlen(string));
}

static bool needs_quotes(const char *bytes, size_t count)
{
    if (count == 0)
        return true;
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
            return true;
    }
    return false;
}

void escape_logfmt_bytes(struct text *out, const char *bytes, size_t count)
{
    if (needs_quotes(bytes, count))
        escape_json_bytes(out, bytes, count);
    else
        text_add_bytes(out, bytes, count);
}

void escape_logfmt(struct text *out, const char *string)
{
    escape_logfmt_bytes(out, string, strlen(string));
}
