/* SPDX-License-Identifier: ISC */
/* One event as one line with its newline. Pure: the instant is given.
 *
 * text    leaserun: KEY: sentence: error
 * logfmt  at=... level=warn event=renew_failed key=... msg="..."
 * json    {"at":"...","level":"warn","event":"renew_failed","message":"...","key":"..."}
 *
 * at is RFC 3339 with microseconds. Fields stand in the same order in every line, and only where
 * they apply: job key slot fence run_id hook holder streak outcome status took_ms output_tail
 * error sqlstate; of output stream and continues behind hook. In text the error follows the
 * sentence, unless the sentence holds it already. */
#pragma once
#include "base/text.h"
#include "log/log.h"

/* The same for what a command has written; in text
 *
 * KEY: stdout: line
 *
 * and "stdout+" where the line goes on in the next piece. */
void log_line_build_output(struct text *out, enum log_format format, const struct log_scope *scope,
                           const struct log_output *output, int64_t wall_us);
void log_line_build(struct text *out, enum log_format format, enum level level, enum event event,
                    const struct log_scope *scope, const char *sentence, int64_t wall_us);
