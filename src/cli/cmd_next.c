/* SPDX-License-Identifier: ISC */
#include "base/exit_code.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/say.h"
#include "cron/cron.h"
#include "cron/zone_instant.h"

static const struct listing_column columns[] = {
    {"job", "JOB"},
    {"slot", "SLOT"},
    {"local", "LOCAL"},
};
#define COLUMN_COUNT (sizeof columns / sizeof columns[0])

/* What stands in place of slots for schedules that have none. */
static const char *word_for(const struct cron *cron)
{
    if (cron->kind == CRON_ONCE)
        return "once";
    return cron->kind == CRON_REBOOT ? "reboot" : "never";
}

static void list_slots(struct listing *listing, const char *job, const struct cron *cron,
                       const struct zone *zone, int64_t from_us, int64_t count)
{
    int64_t slot_us = from_us;
    for (int64_t i = 0; i < count; i++) {
        char local[ZONE_INSTANT_MAX];
        slot_us = cron_next(cron, zone, slot_us);
        if (listing->columns == columns)
            listing_text(listing, job);
        if (slot_us == NO_INSTANT) {
            listing_text(listing, word_for(cron));
            listing_nothing(listing);
            return;
        }
        listing_instant(listing, slot_us);
        listing_text(listing, listing->is_json ? zone_instant_format(zone, slot_us, local)
                                               : zone_instant_describe(zone, slot_us, local));
    }
}

/* What was typed cannot be used: 64, whatever kind of fault it would be in a file. */
static int say_typed(const char *option, struct error *error)
{
    error_prefix(error, "%s", option);
    error->kind = ERROR_USAGE;
    return say_error(error);
}

static int next_of_schedule(const struct options *options)
{
    struct error error;
    struct cron cron;
    struct listing listing;
    int64_t from_us = now_wall_us();
    const struct zone *zone =
        options->timezone != NULL ? zone_find(options->timezone, &error) : zone_host(&error);
    if (zone == NULL)
        return options->timezone != NULL ? say_typed("--timezone", &error) : say_error(&error);
    if (!cron_parse(options->schedule, NULL, &cron, &error))
        return say_typed("--schedule", &error);
    if (options->from != NULL && !zone_instant_parse(zone, options->from, &from_us, &error))
        return say_typed("--from", &error);
    int hidden = options->is_json ? 0 : 1; /* the job's column: there is none */
    listing_start(&listing, columns + hidden, COLUMN_COUNT - (size_t)hidden, options->is_json);
    list_slots(&listing, NULL, &cron, zone, from_us, options->slot_count);
    listing_end(&listing);
    return 0;
}

int cmd_next(struct invocation *invocation)
{
    const struct options *options = &invocation->options;
    struct error error;
    if (options->schedule != NULL && options->operand_count > 0)
        error_set(&error, ERROR_USAGE, "next takes a job or --schedule, not both");
    else if (options->schedule == NULL)
        error_set(&error, ERROR_USAGE, "next needs --schedule");
    else
        return next_of_schedule(options);
    return say_error(&error);
}
