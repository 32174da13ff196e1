/* SPDX-License-Identifier: ISC */
#include "base/utf8.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/output_history.h"
#include "cli/say.h"
#include "cli/slot_history.h"

#include <stdio.h>

static const struct listing_column columns[] = {
    {"run_id", "RUN"},
    {"job", "JOB"},
    {"key", "KEY"},
    {"slot", "SLOT"},
    {"fence", "FENCE"},
    {"holder", "HOLDER"},
    {"started_at", "STARTED"},
    {"finished_at", "FINISHED"},
    {"outcome", "OUTCOME"},
    {"status", "STATUS"},
    {"output_tail", ""}, /* these two in JSON alone */
    {"output_tail_base64", ""},
};
#define COLUMN_COUNT      (sizeof columns / sizeof columns[0])
#define COLUMNS_OF_OUTPUT 2

/* The text is all, or the bytes stand beside it. */
static void list_output(struct listing *listing, const struct run_row *row)
{
    listing_bytes(listing, row->output_tail, row->output_tail_length);
    if (utf8_is_whole(row->output_tail, row->output_tail_length))
        listing_nothing(listing);
    else
        listing_base64(listing, row->output_tail, row->output_tail_length);
}

static void list_row(struct listing *listing, const struct run_row *row)
{
    listing_text(listing, row->run_id);
    listing_text(listing, row->job);
    listing_text(listing, row->key);
    listing_instant(listing, row->slot_us);
    listing_fence(listing, row->fence);
    listing_text(listing, row->holder);
    listing_instant(listing, row->started_us);
    listing_instant(listing, row->finished_us);
    listing_text(listing, run_outcome_name(row->outcome));
    if (row->status < 0)
        listing_nothing(listing);
    else
        listing_number(listing, row->status);
    if (listing->is_json)
        list_output(listing, row);
}

static void list(const struct run_list *runs, bool is_json)
{
    struct listing listing;
    listing_start(&listing, columns, is_json ? COLUMN_COUNT : COLUMN_COUNT - COLUMNS_OF_OUTPUT,
                  is_json);
    for (size_t i = 0; i < runs->count; i++)
        list_row(&listing, &runs->rows[i]);
    listing_end(&listing);
    if (runs->count == 0 && !is_json)
        puts("no runs");
}

int cmd_history(struct invocation *invocation)
{
    struct error error;
    const struct options *options = &invocation->options;
    const char *key = options->operand_count > 0 ? options->operands[0] : NULL;
    if (options->is_slots && options->is_output_tail) {
        error_set(&error, ERROR_USAGE, "--output-tail shows runs: not with --slots");
        return say_error(&error);
    }
    if (options->is_slots)
        return slot_history_list(invocation);
    if (options->operand_count > 1) {
        error_set(&error, ERROR_USAGE, "files of a job table belong to --slots");
        return say_error(&error);
    }
    if (key != NULL && !utf8_check_key(key, &error))
        return say_error(&error);
    struct store_request request = {.kind = STORE_HISTORY};
    request.u.runs = (struct run_list){
        .key = key,
        .limit = options->limit_count,
        .wants_output_tail = options->is_json || options->is_output_tail,
    };
    if (!ask_store(&invocation->store, &request, ASK_LIMITS, &error))
        return say_error(&error);
    if (options->is_output_tail && !options->is_json && request.u.runs.count > 0)
        output_history_print(&request.u.runs);
    else
        list(&request.u.runs, options->is_json);
    store_request_clear(&request);
    return 0;
}
