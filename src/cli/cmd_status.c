/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/say.h"
#include "conf/value.h"
#include "log/escape.h"

#include <stdio.h>
#include <string.h>

#define EXIT_TOO_OLD 1

static const struct listing_column columns[] = {
    {"key", "KEY"},
    {"state", "STATE"},
    {"holder", "HOLDER"},
    {"fence", "FENCE"},
    {"acquired_at", "ACQUIRED"},
    {"expires_at", "EXPIRES"},
    {"remaining_ms", "REMAINING"},
    {"slot", "SLOT"},
};

static void list_row(struct listing *listing, const struct lease_row *row)
{
    bool is_stopping = row->is_revoked && row->state == LEASE_HELD && !listing->is_json;
    listing_text(listing, row->key);
    listing_text(listing, is_stopping ? "held, stop asked" : lease_state_name(row->state));
    listing_text(listing, row->holder);
    listing_fence(listing, row->fence);
    listing_instant(listing, row->acquired_us);
    listing_instant(listing, row->expires_us);
    listing_span(listing, row->remaining_ms);
    listing_instant(listing, row->slot_us);
}

static void print_leases(const struct lease_list *leases, bool is_json)
{
    struct listing listing;
    listing_start(&listing, columns, sizeof columns / sizeof columns[0], is_json);
    for (size_t i = 0; i < leases->count; i++)
        list_row(&listing, &leases->rows[i]);
    listing_end(&listing);
    if (leases->count == 0 && !is_json)
        puts(leases->key == NULL ? "no leases" : "no lease of this key");
}

/* ---- --max-age --------------------------------------------------------------------------- */

struct search {
    int64_t newest_us; /* of the successes seen; NO_INSTANT: none */
    bool is_over;      /* there is nothing left to look at */
};

static struct search search_rows(const struct run_list *runs, int64_t oldest_us)
{
    struct search search = {.newest_us = NO_INSTANT};
    search.is_over = runs->count < (size_t)runs->limit;
    for (size_t i = 0; i < runs->count; i++) {
        const struct run_row *row = &runs->rows[i];
        if (row->outcome == OUTCOME_SUCCEEDED && row->finished_us > search.newest_us)
            search.newest_us = row->finished_us;
        search.is_over |= row->started_us != NO_INSTANT && row->started_us < oldest_us;
    }
    search.is_over |= search.newest_us != NO_INSTANT;
    return search;
}

/* A key that fails every few seconds has many runs since its last success. */
static bool find_success(const struct invocation *invocation, const char *key, int64_t oldest_us,
                         int64_t *ret_newest_us, struct error *err)
{
    for (int64_t limit = 50; limit <= 800000; limit *= 20) {
        struct store_request request = {.kind = STORE_HISTORY};
        request.u.runs = (struct run_list){.key = key, .limit = limit};
        if (!ask_store(&invocation->store, &request, ASK_LIMITS, err))
            return false;
        struct search search = search_rows(&request.u.runs, oldest_us);
        store_request_clear(&request);
        *ret_newest_us = search.newest_us;
        if (search.is_over)
            break;
    }
    return true;
}

static int check_age(const struct invocation *invocation, const char *key)
{
    struct error error;
    char span[TIME_TEXT_MAX], allowed[VALUE_TEXT_MAX];
    int64_t max_age_ms = invocation->options.max_age_ms;
    int64_t now_us = now_wall_us();
    int64_t newest_us = NO_INSTANT;
    int64_t oldest_us = now_us / 1000 > max_age_ms ? now_us - max_age_ms * 1000 : 0;
    if (!find_success(invocation, key, oldest_us, &newest_us, &error))
        return say_error(&error);
    value_format_duration(max_age_ms, allowed);
    if (newest_us == NO_INSTANT) {
        say_line("%s: no run has succeeded within %s, as far as the history goes back", key,
                 allowed);
        return EXIT_TOO_OLD;
    }
    time_text_span((now_us - newest_us) / 1000, span);
    if (newest_us < oldest_us) {
        say_line("%s: no run has succeeded within %s; the last one did %s ago", key, allowed, span);
        return EXIT_TOO_OLD;
    }
    TEXT_AUTODONE struct text line = TEXT_INIT;
    escape_plain(&line, key);
    text_addf(&line, ": a run succeeded %s ago", span);
    puts(text_string(&line));
    return 0;
}

int cmd_status(struct invocation *invocation)
{
    struct error error;
    const struct options *options = &invocation->options;
    const char *key = options->operand_count > 0 ? options->operands[0] : NULL;
    if (key != NULL && !utf8_check_key(key, &error))
        return say_error(&error);
    if (options->max_age_ms > 0 && key == NULL) {
        error_set(&error, ERROR_USAGE, "--max-age needs a key: leaserun status --max-age 26h KEY");
        return say_error(&error);
    }
    if (options->max_age_ms > 0)
        return check_age(invocation, key);
    struct store_request request = {.kind = STORE_STATUS};
    request.u.leases.key = key;
    if (!ask_store(&invocation->store, &request, ASK_LIMITS, &error))
        return say_error(&error);
    print_leases(&request.u.leases, options->is_json);
    store_request_clear(&request);
    return 0;
}
