/* SPDX-License-Identifier: ISC */
#include "log/log_line.h"

#include "base/time_text.h"
#include "log/escape.h"

#include <inttypes.h>
#include <string.h>

/* The two structured formats differ in how a field is written, not in which there are. */
struct form {
    struct text *out;
    const char *message_name;
    void (*add_name)(struct text *out, const char *name);
    void (*add_bytes)(struct text *out, const char *bytes, size_t count);
};

static void add_json_name(struct text *out, const char *name)
{
    text_addf(out, "%s\"%s\":", out->length == 0 ? "{" : ",", name);
}

static void add_logfmt_name(struct text *out, const char *name)
{
    text_addf(out, "%s%s=", out->length == 0 ? "" : " ", name);
}

static struct form json_form(struct text *out)
{
    return (struct form){out, "message", add_json_name, escape_json_bytes};
}

static struct form logfmt_form(struct text *out)
{
    return (struct form){out, "msg", add_logfmt_name, escape_logfmt_bytes};
}

static void add_string(const struct form *form, const char *name, const char *value)
{
    if (value == NULL || *value == '\0')
        return;
    form->add_name(form->out, name);
    form->add_bytes(form->out, value, strlen(value));
}

static void add_number(const struct form *form, const char *name, int64_t value, bool applies)
{
    if (!applies)
        return;
    form->add_name(form->out, name);
    text_addf(form->out, "%" PRId64, value);
}

static void add_bytes(const struct form *form, const char *name, const char *bytes, size_t count)
{
    form->add_name(form->out, name);
    form->add_bytes(form->out, bytes, count);
}

/* What a line is about. */
static void add_subject(const struct form *form, const struct log_scope *scope)
{
    char slot[TIME_TEXT_MAX] = "";
    if (scope->slot_us != NO_INSTANT)
        time_text_s(scope->slot_us, slot);
    add_string(form, "job", scope->job);
    add_string(form, "key", scope->key);
    add_string(form, "slot", slot);
    add_number(form, "fence", scope->fence, scope->fence != 0);
    add_string(form, "run_id", scope->run_id);
    add_string(form, "hook", scope->hook);
}

static void add_fields(const struct form *form, const struct log_scope *scope)
{
    add_subject(form, scope);
    add_string(form, "holder", scope->holder);
    add_number(form, "streak", scope->streak, scope->streak != 0);
    add_string(form, "outcome", scope->outcome);
    add_number(form, "status", scope->status, scope->status >= 0);
    add_number(form, "took_ms", scope->took_ms, scope->took_ms >= 0);
    if (scope->tail_length > 0)
        add_bytes(form, "output_tail", scope->tail, scope->tail_length);
}

static void add_error(const struct form *form, const struct log_scope *scope)
{
    if (scope->error == NULL || scope->error->kind == ERROR_NONE)
        return;
    add_string(form, "error", scope->error->text);
    add_string(form, "sqlstate", scope->error->sqlstate);
}

static void add_head(const struct form *form, enum level level, enum event event, int64_t wall_us)
{
    char at[TIME_TEXT_MAX];
    add_string(form, "at", time_text_us(wall_us, at));
    add_string(form, "level", level_name(level));
    add_string(form, "event", events[event].name);
}

static void add_text_error(struct text *out, const struct error *error, const char *sentence)
{
    if (error == NULL || error->kind == ERROR_NONE || strstr(sentence, error->text) != NULL)
        return;
    text_add(out, ": ");
    escape_plain(out, error->text);
    if (error->sqlstate[0] == '\0' || strstr(error->text, error->sqlstate) != NULL)
        return;
    text_add(out, " (SQLSTATE ");
    escape_plain(out, error->sqlstate);
    text_add_char(out, ')');
}

static void build_text(struct text *out, const struct log_scope *scope, const char *sentence)
{
    text_add(out, "leaserun: ");
    if (scope->key != NULL) {
        escape_plain(out, scope->key);
        text_add(out, ": ");
    }
    escape_plain(out, sentence);
    add_text_error(out, scope->error, sentence);
    if (scope->tail_length > 0) {
        text_add(out, "; its last output: ");
        escape_plain_bytes(out, scope->tail, scope->tail_length);
    }
}

void log_line_build(struct text *out, enum log_format format, enum level level, enum event event,
                    const struct log_scope *scope, const char *sentence, int64_t wall_us)
{
    text_clear(out);
    if (format == LOG_FORMAT_JSON) {
        const struct form json = json_form(out);
        add_head(&json, level, event, wall_us);
        add_string(&json, json.message_name, sentence);
        add_fields(&json, scope);
        add_error(&json, scope);
        text_add_char(out, '}');
    } else if (format == LOG_FORMAT_LOGFMT) {
        const struct form logfmt = logfmt_form(out);
        add_head(&logfmt, level, event, wall_us);
        add_fields(&logfmt, scope);
        add_string(&logfmt, logfmt.message_name, sentence);
        add_error(&logfmt, scope);
    } else {
        build_text(out, scope, sentence);
    }
    text_add_char(out, '\n');
}

/* ---- what a command has written -------------------------------------------------------------- */

static void add_output(const struct form *form, const struct log_scope *scope,
                       const struct log_output *output, int64_t wall_us)
{
    add_head(form, events[EVENT_OUTPUT].level, EVENT_OUTPUT, wall_us);
    add_subject(form, scope);
    add_string(form, "stream", output->stream);
    if (output->continues) {
        form->add_name(form->out, "continues");
        text_add(form->out, "true");
    }
    add_bytes(form, form->message_name, output->bytes, output->length);
}

static void build_output_text(struct text *out, const struct log_scope *scope,
                              const struct log_output *output)
{
    if (scope->key != NULL) {
        escape_plain(out, scope->key);
        text_add(out, ": ");
    }
    text_addf(out, "%s%s: ", output->stream, output->continues ? "+" : "");
    escape_plain_bytes(out, output->bytes, output->length);
}

void log_line_build_output(struct text *out, enum log_format format, const struct log_scope *scope,
                           const struct log_output *output, int64_t wall_us)
{
    text_clear(out);
    if (format == LOG_FORMAT_JSON) {
        const struct form json = json_form(out);
        add_output(&json, scope, output, wall_us);
        text_add_char(out, '}');
    } else if (format == LOG_FORMAT_LOGFMT) {
        const struct form logfmt = logfmt_form(out);
        add_output(&logfmt, scope, output, wall_us);
    } else {
        build_output_text(out, scope, output);
    }
    text_add_char(out, '\n');
}
