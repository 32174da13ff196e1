/* SPDX-License-Identifier: ISC */
#include "command/command_lines.h"

#include <string.h>

#define HELD_KEPT 4096 /* memory that may stay with a stream between its lines */

static void tell(struct command_lines *lines, const char *bytes, size_t length, bool continues)
{
    lines->line(lines->owner, &(struct command_line){.stream = lines->stream,
                                                     .bytes = bytes,
                                                     .length = length,
                                                     .continues = continues});
}

/* How many of these end a character, or are none at all. */
static size_t whole_length(const char *bytes, size_t count)
{
    for (size_t back = 1; back <= 3 && back <= count; back++) {
        unsigned char c = (unsigned char)bytes[count - back];
        if (c < 0x80)
            return count;
        if (c < 0xc0) /* within a character */
            continue;
        size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
        return length > back ? count - back : count;
    }
    return count;
}

static void forget_held(struct command_lines *lines)
{
    if (lines->held.room > HELD_KEPT)
        text_done(&lines->held);
    else
        text_clear(&lines->held);
}

/* The line ends after these. */
static void tell_line(struct command_lines *lines, const char *bytes, size_t count)
{
    if (lines->held.length == 0) {
        tell(lines, bytes, count, false);
        return;
    }
    text_add_bytes(&lines->held, bytes, count);
    tell(lines, lines->held.bytes, lines->held.length, false);
    forget_held(lines);
}

/* What is held is as long as it may be, and more of the line follows. */
static void tell_piece(struct command_lines *lines)
{
    size_t length = whole_length(lines->held.bytes, lines->held.length);
    size_t rest_count = lines->held.length - length;
    char rest[4];
    memcpy(rest, lines->held.bytes + length, rest_count);
    tell(lines, lines->held.bytes, length, true);
    text_clear(&lines->held);
    text_add_bytes(&lines->held, rest, rest_count);
}

void command_lines_add(struct command_lines *lines, const char *bytes, size_t count)
{
    while (count > 0) {
        size_t room = COMMAND_LINE_MOST - lines->held.length;
        /* A newline may stand right behind a line of full length. */
        const char *end = memchr(bytes, '\n', count <= room ? count : room + 1);
        size_t taken = end != NULL ? (size_t)(end - bytes) : count <= room ? count : room;
        if (end != NULL) {
            tell_line(lines, bytes, taken);
            taken++;
        } else {
            text_add_bytes(&lines->held, bytes, taken);
            if (taken < count)
                tell_piece(lines);
        }
        bytes += taken;
        count -= taken;
    }
}

void command_lines_end(struct command_lines *lines)
{
    if (lines->held.length > 0)
        tell(lines, lines->held.bytes, lines->held.length, false);
    text_done(&lines->held);
}
