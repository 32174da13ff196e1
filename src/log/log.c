/* SPDX-License-Identifier: ISC */
#include "log/log.h"

#include "base/bounded_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "log/log_line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct log log_open(int fd, enum level least, enum log_format format)
{
    if (format == LOG_FORMAT_AUTO)
        format = isatty(fd) ? LOG_FORMAT_TEXT : LOG_FORMAT_LOGFMT;
    return (struct log){.fd = fd, .least = least, .format = format};
}

static size_t write_bytes(struct log *log, const char *bytes, size_t count)
{
    return bounded_write(log->fd, &log->is_stuck, bytes, count);
}

static void write_at_once(struct log *log, const struct text *line)
{
    if (log->is_cut && write_bytes(log, "\n", 1) == 1)
        log->is_cut = false;
    size_t done = log->is_cut ? 0 : write_bytes(log, line->bytes, line->length);
    if (done == line->length)
        return;
    log->is_cut = log->is_cut || done > 0;
    log->dropped_count++;
}

static void write_line(struct log *log, const struct text *line)
{
    if (log->writer == NULL) {
        write_at_once(log, line);
    } else if (!writer_is_full(log->writer)) {
        writer_put(log->writer, line->bytes, line->length);
    } else {
        log->dropped_count++;
        writer_await_room(log->writer, &log->room);
    }
}

/* Said before the first line that finds room again. */
static void tell_dropped(struct log *log)
{
    char sentence[96];
    TEXT_AUTODONE struct text line = TEXT_INIT;
    int64_t dropped_count = log->dropped_count;
    snprintf(sentence, sizeof sentence,
             "%" PRId64 " lines before this one are lost: they could not be written",
             dropped_count);
    log->dropped_count = 0;
    log_line_build(&line, log->format, LEVEL_WARN, EVENT_LINES_LOST, &LOG_SCOPE_NONE, sentence,
                   now_wall_us());
    write_line(log, &line);
    if (log->dropped_count > 0)
        log->dropped_count = dropped_count;
}

static void tell_lost(struct log *log)
{
    if (log->writer != NULL)
        log->dropped_count += writer_take_lost(log->writer);
    if (log->dropped_count > 0)
        tell_dropped(log);
}

static void on_room(struct writer_waiter *waiter)
{
    tell_lost(LIST_OBJECT(waiter, struct log, room));
}

void log_use_writer(struct log *log, struct writer *writer)
{
    writer_forget(&log->room);
    log->room = (struct writer_waiter){.has_room = on_room};
    log->writer = writer;
}

static void write_event(struct log *log, enum level level, enum event event,
                        const struct log_scope *scope, const char *sentence, va_list args)
    __attribute__((format(printf, 5, 0)));

static void write_event(struct log *log, enum level level, enum event event,
                        const struct log_scope *scope, const char *sentence, va_list args)
{
    if (level < log->least)
        return;
    char *formatted = NULL;
    if (vasprintf(&formatted, sentence, args) < 0)
        formatted = NULL;
    MEM_AUTOFREE char *message = formatted == NULL ? mem_strdup(sentence) : formatted;
    TEXT_AUTODONE struct text line = TEXT_INIT;
    tell_lost(log);
    log_line_build(&line, log->format, level, event, scope, message, now_wall_us());
    write_line(log, &line);
}

void log_event(struct log *log, enum event event, const struct log_scope *scope,
               const char *sentence, ...)
{
    va_list args;
    va_start(args, sentence);
    write_event(log, events[event].level, event, scope, sentence, args);
    va_end(args);
}

void log_event_at(struct log *log, enum level level, enum event event,
                  const struct log_scope *scope, const char *sentence, ...)
{
    va_list args;
    va_start(args, sentence);
    write_event(log, level, event, scope, sentence, args);
    va_end(args);
}

void log_output(struct log *log, const struct log_scope *scope, const struct log_output *output)
{
    TEXT_AUTODONE struct text line = TEXT_INIT;
    tell_lost(log);
    log_line_build_output(&line, log->format, scope, output, now_wall_us());
    if (log->writer != NULL)
        writer_put(log->writer, line.bytes, line.length);
    else
        write_at_once(log, &line);
}
