/* SPDX-License-Identifier: ISC */
#include "base/exit_code.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/say.h"
#include "conf/job_table.h"
#include "cron/cron.h"
#include "cron/zone_instant.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_OF_ONE  5 /* slots, where none was typed */
#define COUNT_OF_EACH 1

static const struct listing_column columns[] = {
    {"job", "JOB"},
    {"slot", "SLOT"},
    {"local", "LOCAL"},
};
#define COLUMN_COUNT (sizeof columns / sizeof columns[0])

struct due {
    int64_t slot_us; /* NO_INSTANT: there is none */
    const char *job; /* NULL for --schedule */
    enum cron_kind kind;
    const struct zone *zone;
};

struct dues {
    struct due *rows;
    size_t count, room;
};

/* ---- the slots ---- */

static void add_due(struct dues *dues, const struct due *due)
{
    if (dues->count == dues->room) {
        dues->room = dues->room == 0 ? 16 : 2 * dues->room;
        dues->rows = mem_grow(dues->rows, dues->room, sizeof *dues->rows);
    }
    dues->rows[dues->count++] = *due;
}

static void add_slots(struct dues *dues, const char *job, const struct cron *cron,
                      const struct zone *zone, int64_t from_us, int64_t count)
{
    struct due due = {from_us, job, (enum cron_kind)cron->kind, zone};
    for (int64_t i = 0; i < count; i++) {
        due.slot_us = cron_next(cron, zone, due.slot_us);
        add_due(dues, &due);
        if (due.slot_us == NO_INSTANT)
            return;
    }
}

/* In the order of time; what has no slot comes last. */
static int compare_dues(const void *left, const void *right)
{
    const struct due *a = left, *b = right;
    if (a->slot_us == b->slot_us)
        return strcmp(a->job, b->job);
    if (a->slot_us == NO_INSTANT || b->slot_us == NO_INSTANT)
        return a->slot_us == NO_INSTANT ? 1 : -1;
    return a->slot_us < b->slot_us ? -1 : 1;
}

/* ---- the listing ---- */

static void list_due(struct listing *listing, const struct due *due)
{
    static const char *const words[] = {
        [CRON_CALENDAR] = "never",
        [CRON_EVERY] = "never",
        [CRON_ONCE] = "once",
        [CRON_REBOOT] = "reboot",
    };
    char local[ZONE_INSTANT_MAX];
    if (listing->columns == columns)
        listing_text(listing, due->job);
    if (due->slot_us == NO_INSTANT) {
        listing_text(listing, words[due->kind]);
        listing_nothing(listing);
        return;
    }
    listing_instant(listing, due->slot_us);
    listing_text(listing, listing->is_json ? zone_instant_format(due->zone, due->slot_us, local)
                                           : zone_instant_describe(due->zone, due->slot_us, local));
}

static int list_dues(const struct dues *dues, bool has_jobs, bool is_json)
{
    struct listing listing;
    size_t hidden = has_jobs || is_json ? 0 : 1; /* the column of jobs */
    listing_start(&listing, columns + hidden, COLUMN_COUNT - hidden, is_json);
    for (size_t i = 0; i < dues->count; i++)
        list_due(&listing, &dues->rows[i]);
    listing_end(&listing);
    return 0;
}

/* ---- what was typed ---- */

/* It cannot be used: 64, whatever kind of fault it would be in a file. */
static bool refuse_typed(const char *option, struct error *err)
{
    err->kind = ERROR_USAGE;
    return error_prefix(err, "--%s", option);
}

static bool read_from(const struct options *options, const struct zone *zone, int64_t *ret_us,
                      struct error *err)
{
    *ret_us = now_wall_us();
    return options->from == NULL || zone_instant_parse(zone, options->from, ret_us, err) ||
           refuse_typed("from", err);
}

static bool add_typed(const struct options *options, struct dues *dues, struct error *err)
{
    struct cron cron;
    int64_t from_us;
    const char *name = options->timezone;
    const struct zone *zone = name != NULL ? zone_find(name, err) : zone_host(err);
    if (zone == NULL)
        return name != NULL && refuse_typed("timezone", err);
    if (!cron_parse(options->schedule, NULL, &cron, err))
        return refuse_typed("schedule", err);
    if (!read_from(options, zone, &from_us, err))
        return false;
    add_slots(dues, NULL, &cron, zone, from_us,
              options->slot_count > 0 ? options->slot_count : COUNT_OF_ONE);
    return true;
}

static int next_of_schedule(const struct options *options)
{
    struct error error;
    struct dues dues = {0};
    if (!add_typed(options, &dues, &error))
        return say_error(&error);
    list_dues(&dues, false, options->is_json);
    free(dues.rows);
    return 0;
}

/* ---- jobs of the table ---- */

static bool add_job(const struct options *options, const struct job *job, int64_t count,
                    struct dues *dues, struct error *err)
{
    struct cron cron;
    int64_t from_us;
    const struct zone *zone =
        job->timezone != NULL ? zone_find(job->timezone, err) : zone_host(err);
    if (zone == NULL || !cron_parse(job->schedule, job->key, &cron, err))
        return error_prefix(err, "%s:%d", job->file, job->line);
    if (!read_from(options, zone, &from_us, err))
        return false;
    add_slots(dues, job->name, &cron, zone, from_us, count);
    return true;
}

static bool add_all(const struct options *options, const struct job_table *table, struct dues *dues,
                    struct error *err)
{
    int64_t count = options->slot_count > 0 ? options->slot_count : COUNT_OF_EACH;
    for (size_t i = 0; i < table->count; i++)
        if (table->jobs[i].is_enabled && !add_job(options, &table->jobs[i], count, dues, err))
            return false;
    if (dues->count > 0)
        qsort(dues->rows, dues->count, sizeof *dues->rows, compare_dues);
    return true;
}

static bool add_wanted(const struct options *options, const struct job_table *table,
                       struct dues *dues, struct error *err)
{
    const char *name = options->operand_count > 0 ? options->operands[0] : NULL;
    const struct job *job = name != NULL ? job_table_find(table, name) : NULL;
    if (name == NULL)
        return add_all(options, table, dues, err);
    if (job == NULL)
        return error_set(err, ERROR_USAGE, "there is no job \"%s\" in the job table", name);
    return add_job(options, job, options->slot_count > 0 ? options->slot_count : COUNT_OF_ONE, dues,
                   err);
}

static int next_of_jobs(struct options *options)
{
    struct error error;
    struct dues dues = {0};
    struct job_table table;
    struct ini_faults faults = {0};
    int code = 0;
    if (!job_table_read(&options->config, NULL, 0, &table, &faults))
        code = say_faults(&faults);
    else if (!add_wanted(options, &table, &dues, &error))
        code = say_error(&error);
    else if (dues.count == 0)
        say_line("no job of the job table is enabled");
    else
        list_dues(&dues, true, options->is_json);
    free(dues.rows);
    job_table_done(&table);
    ini_faults_done(&faults);
    return code;
}

int cmd_next(struct invocation *invocation)
{
    struct options *options = &invocation->options;
    struct error error;
    if (options->schedule != NULL && options->operand_count > 0)
        error_set(&error, ERROR_USAGE, "next takes a job or --schedule, not both");
    else if (options->schedule == NULL && options->timezone != NULL)
        error_set(&error, ERROR_USAGE, "--timezone belongs to --schedule: a job has its own");
    else
        return options->schedule != NULL ? next_of_schedule(options) : next_of_jobs(options);
    return say_error(&error);
}
