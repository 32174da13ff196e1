/* SPDX-License-Identifier: ISC */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

static const struct form {
    unsigned char mask, lead;
    size_t length;
    uint32_t least;
} forms[] = {
    {.mask = 0x80, .lead = 0x00, .length = 1, .least = 0},
    {.mask = 0xe0, .lead = 0xc0, .length = 2, .least = 0x80},
    {.mask = 0xf0, .lead = 0xe0, .length = 3, .least = 0x800},
    {.mask = 0xf8, .lead = 0xf0, .length = 4, .least = 0x10000},
};

static size_t check_form(const struct form *form, const char *text, size_t room)
{
    if (room < form->length)
        return 0;
    uint32_t value = (unsigned char)text[0] & (unsigned char)~form->mask;
    for (size_t i = 1; i < form->length; i++) {
        unsigned char next = (unsigned char)text[i];
        if ((next & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (next & 0x3f);
    }
    bool is_surrogate = value >= 0xd800 && value <= 0xdfff;
    return value < form->least || value > 0x10ffff || is_surrogate ? 0 : form->length;
}

size_t utf8_char_length(const char *text, size_t room)
{
    for (size_t i = 0; room > 0 && i < sizeof forms / sizeof forms[0]; i++)
        if (((unsigned char)text[0] & forms[i].mask) == forms[i].lead)
            return check_form(&forms[i], text, room);
    return 0;
}

bool utf8_is_whole(const char *bytes, size_t count)
{
    for (size_t at = 0, length; at < count; at += length) {
        length = utf8_char_length(bytes + at, count - at);
        if (length == 0)
            return false;
    }
    return true;
}

bool utf8_check_key(const char *key, struct error *err)
{
    size_t length = strlen(key);
    if (length == 0)
        return error_set(err, ERROR_USAGE, "the key is empty: give the lease a name");
    if (length > UTF8_KEY_MAX)
        return error_set(err, ERROR_USAGE, "the key has %zu bytes, the longest possible has %d",
                         length, UTF8_KEY_MAX);
    for (size_t at = 0, step; at < length; at += step) {
        step = utf8_char_length(key + at, length - at);
        if (step == 0)
            return error_set(err, ERROR_USAGE,
                             "the key is not UTF-8: byte %zu is 0x%02x, which starts no character",
                             at + 1, (unsigned char)key[at]);
        if (key[at] == '\n')
            return error_set(err, ERROR_USAGE,
                             "the key has a newline at byte %zu: a key is one line", at + 1);
    }
    return true;
}
