/* SPDX-License-Identifier: ISC */
#include "cli/output_history.h"

#include "base/time_text.h"
#include "log/escape.h"

#include <stdio.h>
#include <string.h>

#define INDENT "    "

static void add_instant(struct text *out, const char *name, int64_t wall_us)
{
    char instant[TIME_TEXT_MAX];
    if (wall_us != NO_INSTANT)
        text_addf(out, ", %s %s", name, time_text_s(wall_us, instant));
}

static void add_head(struct text *out, const struct run_row *run)
{
    if (run->job != NULL) {
        escape_plain(out, run->job);
        text_add(out, ", ");
    }
    text_add(out, "key ");
    escape_plain(out, run->key);
    text_add(out, ", run ");
    escape_plain(out, run->run_id);
    add_instant(out, "slot", run->slot_us);
    add_instant(out, "started", run->started_us);
    text_addf(out, ": %s", run_outcome_name(run->outcome));
    if (run->status >= 0)
        text_addf(out, ", status %d", run->status);
    add_instant(out, "finished", run->finished_us);
    text_add_char(out, '\n');
}

static void add_output(struct text *out, const char *bytes, size_t count)
{
    while (count > 0) {
        const char *end = memchr(bytes, '\n', count);
        size_t length = end == NULL ? count : (size_t)(end - bytes);
        text_add(out, INDENT);
        escape_plain_bytes(out, bytes, length);
        text_add_char(out, '\n');
        length += end != NULL;
        bytes += length;
        count -= length;
    }
}

void output_history_print(const struct run_list *runs)
{
    struct text out TEXT_AUTODONE = TEXT_INIT;
    for (size_t i = 0; i < runs->count; i++) {
        const struct run_row *run = &runs->rows[i];
        text_clear(&out);
        add_head(&out, run);
        if (run->output_tail == NULL)
            text_add(&out, INDENT "(no output is kept)\n");
        else
            add_output(&out, run->output_tail, run->output_tail_length);
        fwrite(text_string(&out), 1, out.length, stdout);
    }
}
