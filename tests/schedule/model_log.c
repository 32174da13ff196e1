/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "world.h"

#include <stdio.h>

struct model_line *model_lines;
size_t model_line_count;
static size_t room;

void model_log_reset(void)
{
    model_line_count = 0;
}

int model_log_count(const struct replica *replica, enum event event, int64_t since_ms)
{
    int count = 0;
    for (size_t i = model_line_count; i-- > 0 && model_lines[i].at_ms >= since_ms;)
        count += model_lines[i].replica == replica && model_lines[i].event == event;
    return count;
}

struct log log_open(int fd, enum level least, enum log_format format)
{
    return (struct log){.fd = fd, .least = least, .format = format};
}

static void note(enum level level, enum event event, const struct log_scope *scope)
{
    if (model_line_count == room) {
        room = room == 0 ? 1024 : room * 2;
        model_lines = mem_grow(model_lines, room, sizeof *model_lines);
    }
    struct model_line *line = &model_lines[model_line_count++];
    *line = (struct model_line){.event = event,
                                .level = level,
                                .slot_us = scope->slot_us,
                                .at_ms = world.now_ms,
                                .outcome = scope->outcome,
                                .replica = world.current};
    if (scope->job != NULL)
        snprintf(line->job, sizeof line->job, "%s", scope->job);
    if (scope->run_id != NULL)
        snprintf(line->run_id, sizeof line->run_id, "%s", scope->run_id);
}

void log_event(struct log *log, enum event event, const struct log_scope *scope,
               const char *sentence, ...)
{
    note(events[event].level, event, scope);
}

void log_event_at(struct log *log, enum level level, enum event event,
                  const struct log_scope *scope, const char *sentence, ...)
{
    note(level, event, scope);
}

void log_output(struct log *log, const struct log_scope *scope, const struct log_output *output)
{
}

void log_use_writer(struct log *log, struct writer *writer)
{
}
