/* SPDX-License-Identifier: ISC */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void mark_cut(struct error *err, int length)
{
    if (length >= (int)sizeof err->text)
        memcpy(err->text + sizeof err->text - 4, "...", 4);
}

static void format_text(struct error *err, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void format_text(struct error *err, const char *format, va_list args)
{
    mark_cut(err, vsnprintf(err->text, sizeof err->text, format, args));
    error_fold_line(err->text);
}

bool error_set(struct error *err, enum error_kind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err->kind = kind;
    err->sqlstate[0] = '\0';
    format_text(err, format, args);
    va_end(args);
    return false;
}

bool error_set_errno(struct error *err, enum error_kind kind, int errno_value, const char *format,
                     ...)
{
    va_list args;
    va_start(args, format);
    err->kind = kind;
    err->sqlstate[0] = '\0';
    format_text(err, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    mark_cut(err, (int)used + snprintf(err->text + used, sizeof err->text - used, ": %s",
                                       strerror(errno_value)));
    return false;
}

bool error_prefix(struct error *err, const char *format, ...)
{
    char before[sizeof err->text];
    memcpy(before, err->text, sizeof before);
    va_list args;
    va_start(args, format);
    format_text(err, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    mark_cut(err, (int)used + snprintf(err->text + used, sizeof err->text - used, ": %s", before));
    return false;
}

void error_fold_line(char *text)
{
    char *out = text;
    bool blank = false;
    for (const char *in = text; *in != '\0'; in++) {
        unsigned char c = (unsigned char)*in;
        if (c < 0x20 || c == 0x7f || c == ' ') {
            blank = out != text;
            continue;
        }
        if (blank)
            *out++ = ' ';
        blank = false;
        *out++ = (char)c;
    }
    *out = '\0';
}
