/* SPDX-License-Identifier: ISC */
#include "base/utf8.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/listing.h"
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
};

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
}

int cmd_history(struct invocation *invocation)
{
    struct error error;
    struct listing listing;
    const struct options *options = &invocation->options;
    const char *key = options->operand_count > 0 ? options->operands[0] : NULL;
    if (options->is_slots)
        return slot_history_list(invocation);
    if (options->operand_count > 1) {
        error_set(&error, ERROR_USAGE, "files of a job table belong to --slots");
        return say_error(&error);
    }
    if (key != NULL && !utf8_check_key(key, &error))
        return say_error(&error);
    struct store_request request = {.kind = STORE_HISTORY};
    request.u.runs = (struct run_list){.key = key, .limit = options->limit_count};
    if (!ask_store(&invocation->store, &request, ASK_LIMITS, &error))
        return say_error(&error);
    listing_start(&listing, columns, sizeof columns / sizeof columns[0], options->is_json);
    for (size_t i = 0; i < request.u.runs.count; i++)
        list_row(&listing, &request.u.runs.rows[i]);
    listing_end(&listing);
    if (request.u.runs.count == 0 && !options->is_json)
        puts("no runs");
    store_request_clear(&request);
    return 0;
}
