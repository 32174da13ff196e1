/* SPDX-License-Identifier: ISC */
/* Event to line on stderr. One event, one line. A line is built by log_line.c in one of three
 * formats; text is for a terminal, logfmt otherwise. A full or closed stderr never stops a job:
 * written at once, with one write(2), a reader that stands still is waited for once, half a
 * second; through a writer nothing waits. Lines that were lost are told of once others flow. */
#pragma once
#include "base/error.h"
#include "base/now.h"
#include "log/event.h"
#include "loop/writer.h"

#include <stdint.h>

enum log_format {
    LOG_FORMAT_AUTO,
    LOG_FORMAT_TEXT,
    LOG_FORMAT_LOGFMT,
    LOG_FORMAT_JSON
};

/* What is spoken of: fields that are NULL, 0 or NO_INSTANT where they do not apply. */
struct log_scope {
    const char *job, *key, *run_id, *hook, *holder;
    int64_t fence;
    int64_t slot_us;
    int streak;
    const char *outcome;
    int status;                /* of the command; -1: none */
    int64_t took_ms;           /* -1: none */
    const struct error *error; /* error and sqlstate */
    const char *tail;          /* the last tail_length bytes of the command's output; or NULL */
    size_t tail_length;
};

/* What a command has written: a line, or a piece of one. */
struct log_output {
    const char *stream; /* "stdout", "stderr" */
    const char *bytes;  /* any, no newline */
    size_t length;
    bool continues; /* the next piece of this stream is of the same line */
};
#define LOG_SCOPE_NONE ((struct log_scope){.slot_us = NO_INSTANT, .status = -1, .took_ms = -1})

struct log {
    int fd;
    struct writer *writer; /* NULL: written at once */
    struct writer_waiter room;
    enum level least;       /* lines below it are not written */
    enum log_format format; /* resolved: never AUTO */
    bool is_cut;            /* the last line stopped in its middle: nobody read fast enough */
    bool is_stuck;          /* waited for the reader in vain; not waited again until it reads */
    int64_t dropped_count;  /* lines since then; told once it reads again */
};

/* Resolves AUTO by isatty(fd). */
struct log log_open(int fd, enum level least, enum log_format format);

/* From here on, lines go through a writer of the same descriptor; the log stays where it is. NULL:
 * at once again. */
void log_use_writer(struct log *log, struct writer *writer);

/* Writes the event at its level. sentence is for people: no newline, says what to do where
 * something can be done. */
void log_event(struct log *log, enum event event, const struct log_scope *scope,
               const char *sentence, ...) __attribute__((format(printf, 4, 5)));
void log_event_at(struct log *log, enum level level, enum event event,
                  const struct log_scope *scope, const char *sentence, ...)
    __attribute__((format(printf, 5, 6)));

/* Writes EVENT_OUTPUT, whatever the least level. With a writer, ask writer_has_room before. */
void log_output(struct log *log, const struct log_scope *scope, const struct log_output *output);
