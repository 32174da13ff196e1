/* SPDX-License-Identifier: ISC */
/* Bytes of one stream, as they come, to lines (struct command_line): of any length, of any bytes,
 * the last one with or without a newline. */
#pragma once
#include "base/text.h"
#include "command/command.h"

struct command_lines {
    const char *stream;
    struct text held; /* the beginning of a line */
    void (*line)(void *owner, const struct command_line *line);
    void *owner;
};

/* Tells every line that has its end, and pieces of one that is too long. */
void command_lines_add(struct command_lines *lines, const char *bytes, size_t count);

/* No more comes: tells a last line without newline, and gives the memory back. */
void command_lines_end(struct command_lines *lines);
