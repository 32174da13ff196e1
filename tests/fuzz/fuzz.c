/* SPDX-License-Identifier: ISC */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_fail(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
    abort();
}

bool fuzz_is_over(const struct fuzz_input *input)
{
    return input->at == input->end;
}

unsigned fuzz_byte(struct fuzz_input *input)
{
    return fuzz_is_over(input) ? 0 : *input->at++;
}

unsigned fuzz_below(struct fuzz_input *input, unsigned bound)
{
    return fuzz_byte(input) % bound;
}

int64_t fuzz_int64(struct fuzz_input *input)
{
    unsigned kind = fuzz_byte(input);
    uint64_t value = 0;
    switch (kind % 5) {
    case 0:
        return (int64_t)fuzz_byte(input) - 8;
    case 1:
        return INT64_MAX - (int64_t)fuzz_byte(input);
    case 2:
        return INT64_MIN + (int64_t)fuzz_byte(input);
    case 3:
        value = fuzz_byte(input);
        return (int64_t)(value << 8 | fuzz_byte(input));
    default:
        for (int i = 0; i < 8; i++)
            value = value << 8 | fuzz_byte(input);
        return (int64_t)value;
    }
}

char *fuzz_string(struct fuzz_input *input)
{
    size_t left = (size_t)(input->end - input->at);
    const uint8_t *nul = left == 0 ? NULL : memchr(input->at, '\0', left);
    size_t length = nul == NULL ? left : (size_t)(nul - input->at);
    char *string = malloc(length + 1);
    if (string == NULL)
        abort();
    if (length > 0)
        memcpy(string, input->at, length);
    string[length] = '\0';
    input->at += nul == NULL ? length : length + 1;
    return string;
}

/* One alternative of the grammar's UTF8-char: ranges of up to four bytes. */
struct form {
    unsigned char ranges[4][2]; /* ends at {0, 0} */
};

static const struct form forms[] = {
    {.ranges = {{0x01, 0x7f}}},
    {.ranges = {{0xc2, 0xdf}, {0x80, 0xbf}}},
    {.ranges = {{0xe0, 0xe0}, {0xa0, 0xbf}, {0x80, 0xbf}}},
    {.ranges = {{0xe1, 0xec}, {0x80, 0xbf}, {0x80, 0xbf}}},
    {.ranges = {{0xed, 0xed}, {0x80, 0x9f}, {0x80, 0xbf}}},
    {.ranges = {{0xee, 0xef}, {0x80, 0xbf}, {0x80, 0xbf}}},
    {.ranges = {{0xf0, 0xf0}, {0x90, 0xbf}, {0x80, 0xbf}, {0x80, 0xbf}}},
    {.ranges = {{0xf1, 0xf3}, {0x80, 0xbf}, {0x80, 0xbf}, {0x80, 0xbf}}},
    {.ranges = {{0xf4, 0xf4}, {0x80, 0x8f}, {0x80, 0xbf}, {0x80, 0xbf}}},
};

static size_t match(const struct form *form, const char *text, size_t room)
{
    size_t length = 0;
    for (; length < 4 && form->ranges[length][1] != 0; length++) {
        unsigned char c = length < room ? (unsigned char)text[length] : 0;
        if (c < form->ranges[length][0] || c > form->ranges[length][1])
            return 0;
    }
    return length;
}

bool fuzz_is_utf8(const char *text, size_t length)
{
    for (size_t at = 0, step; at < length; at += step) {
        step = 0;
        for (size_t i = 0; i < sizeof forms / sizeof forms[0] && step == 0; i++)
            step = match(&forms[i], text + at, length - at);
        if (step == 0)
            return false;
    }
    return true;
}

bool fuzz_is_one_line(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}
