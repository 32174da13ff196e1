/* SPDX-License-Identifier: ISC */
/* What the command writes to stdout and stderr, where leaserun reads it: two pipes, so that
 * `echo > /dev/stdout` works. Not read, they fill up and the command waits. */
#pragma once
#include "command/command.h"
#include "command/command_lines.h"
#include "command/tail.h"

struct command_output;

struct command_stream {
    struct command_output *output;
    struct watch watch; /* fd -1: nothing is read */
    struct command_lines lines;
};

struct command_output {
    struct command_stream streams[2];
    struct tail tail;
    struct writer *writer;
    struct writer_waiter waiter;
    struct handles *handles; /* which close the watches */
    bool has_lines;
};

/* The ends that the command is to have as 1 and 2; -1: what leaserun has there. The caller closes
 * them once the guard has been started. */
struct command_output_ends {
    int stdout_fd, stderr_fd;
};

/* Fails with nothing to be given back. */
bool command_output_open(struct command_output *output, uv_loop_t *loop,
                         const struct command_spec *spec, const struct command_listener *listener,
                         void *owner, struct handles *handles, struct command_output_ends *ret_ends,
                         struct error *err);
void command_output_close_ends(struct command_output_ends *ends);

/* Reads what the pipes hold now, however little room there is for it, tells the last line, and
 * closes them. Twice is once. */
void command_output_drain(struct command_output *output);

/* Closes the pipes unread. */
void command_output_close(struct command_output *output);
