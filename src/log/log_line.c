/* SPDX-License-Identifier: ISC */
#include "log/log_line.h"

#include "base/time_text.h"
#include "log/escape.h"

#include <inttypes.h>
#include <string.h>

/* The two structured formats differ in how a field is written, not in which there are. */
struct form {
    struct text *out;
    void (*add_name)(struct text *out, const char *name);
    void (*add_string)(struct text *out, const char *string);
};

static void add_json_name(struct text *out, const char *name)
{
    text_addf(out, "%s\"%s\":", out->length == 0 ? "{" : ",", name);
}

static void add_logfmt_name(struct text *out, const char *name)
{
    text_addf(out, "%s%s=", out->length == 0 ? "" : " ", name);
}

static void add_string(const struct form *form, const char *name, const char *value)
{
    if (value == NULL || *value == '\0')
        return;
    form->add_name(form->out, name);
    form->add_string(form->out, value);
}

static void add_number(const struct form *form, const char *name, int64_t value, bool applies)
{
    if (!applies)
        return;
    form->add_name(form->out, name);
    text_addf(form->out, "%" PRId64, value);
}

static void add_fields(const struct form *form, const struct log_scope *scope)
{
    char slot[TIME_TEXT_MAX] = "";
    if (scope->slot_us != NO_INSTANT)
        time_text_s(scope->slot_us, slot);
    add_string(form, "job", scope->job);
    add_string(form, "key", scope->key);
    add_string(form, "slot", slot);
    add_number(form, "fence", scope->fence, scope->fence != 0);
    add_string(form, "run_id", scope->run_id);
    add_string(form, "holder", scope->holder);
    add_number(form, "streak", scope->streak, scope->streak != 0);
    add_string(form, "outcome", scope->outcome);
    add_number(form, "status", scope->status, scope->status >= 0);
    add_number(form, "took_ms", scope->took_ms, scope->took_ms >= 0);
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

static void build_text(struct text *out, const struct log_scope *scope, const char *sentence)
{
    text_add(out, "leaserun: ");
    if (scope->key != NULL) {
        escape_plain(out, scope->key);
        text_add(out, ": ");
    }
    escape_plain(out, sentence);
    const struct error *error = scope->error;
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

void log_line_build(struct text *out, enum log_format format, enum level level, enum event event,
                    const struct log_scope *scope, const char *sentence, int64_t wall_us)
{
    text_clear(out);
    if (format == LOG_FORMAT_JSON) {
        const struct form json = {out, add_json_name, escape_json};
        add_head(&json, level, event, wall_us);
        add_string(&json, "message", sentence);
        add_fields(&json, scope);
        add_error(&json, scope);
        text_add_char(out, '}');
    } else if (format == LOG_FORMAT_LOGFMT) {
        const struct form logfmt = {out, add_logfmt_name, escape_logfmt};
        add_head(&logfmt, level, event, wall_us);
        add_fields(&logfmt, scope);
        add_string(&logfmt, "msg", sentence);
        add_error(&logfmt, scope);
    } else {
        build_text(out, scope, sentence);
    }
    text_add_char(out, '\n');
}
