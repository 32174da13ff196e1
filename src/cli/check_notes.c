/* SPDX-License-Identifier: ISC */
#include "cli/check_notes.h"

#include "base/mem.h"
#include "base/now.h"
#include "base/text.h"
#include "base/time_text.h"
#include "cron/cron_hints.h"
#include "lease/lease.h"
#include "log/escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_note(const struct job *job, bool is_warning, const char *sentence)
{
    TEXT_AUTODONE struct text line = TEXT_INIT;
    TEXT_AUTODONE struct text shown = TEXT_INIT;
    text_addf(&line, "%s:%d: [job %s] %s", job->file, job->line, job->name, sentence);
    escape_plain(&shown, text_string(&line));
    printf("%s: %s\n", is_warning ? "warning" : "note", text_string(&shown));
}

static void print_outage(const struct job *job)
{
    char outage[TIME_TEXT_MAX], ttl[TIME_TEXT_MAX];
    struct lease_timing timing = lease_timing(job->ttl_ms, job->grace_ms);
    printf("job %s: a running command survives an outage of the store of %s (ttl %s)%s\n",
           job->name, time_text_span(lease_survived_outage_ms(&timing), outage),
           time_text_span(job->ttl_ms, ttl), job->is_enabled ? "" : "; not enabled");
}

/* ---- schedules ----------------------------------------------------------------------------- */

/* The hints of the schedule before: many jobs have the same. */
struct hints {
    const char *schedule, *timezone;
    struct cron_hint hints[CRON_HINT_KIND_COUNT];
    size_t count;
};

static bool find_hints(struct hints *hints, const struct job *job)
{
    struct cron cron;
    struct error error;
    if (hints->schedule == job->schedule && hints->timezone == job->timezone)
        return true;
    const struct zone *zone =
        job->timezone == NULL ? zone_host(&error) : zone_find(job->timezone, &error);
    if (zone == NULL || !cron_parse(job->schedule, job->key, &cron, &error))
        return false;
    hints->schedule = job->schedule;
    hints->timezone = job->timezone;
    hints->count = cron_hints_find(&cron, zone, now_wall_us(), hints->hints);
    return true;
}

static void print_hints(struct hints *hints, const struct job *job)
{
    if (!job->is_enabled || !find_hints(hints, job))
        return;
    for (size_t i = 0; i < hints->count; i++) {
        MEM_AUTOFREE char *sentence =
            mem_printf("schedule %s: %s", job->schedule, hints->hints[i].text);
        print_note(job, hints->hints[i].is_warning, sentence);
    }
}

/* ---- keys ---------------------------------------------------------------------------------- */

/* By key, and with one key in the table's order. Of equal keys the table has one text. */
static int compare_keys(const void *left, const void *right)
{
    const struct job *const *a = left, *const *b = right;
    if ((*a)->key != (*b)->key)
        return (*a)->key < (*b)->key ? -1 : 1;
    return *a < *b ? -1 : 1;
}

static void print_shared_keys(const struct job_table *table)
{
    const struct job **sorted = mem_array(table->count, sizeof *sorted);
    for (size_t i = 0; i < table->count; i++)
        sorted[i] = &table->jobs[i];
    qsort(sorted, table->count, sizeof *sorted, compare_keys);
    for (size_t i = 1; i < table->count; i++) {
        if (sorted[i]->key != sorted[i - 1]->key)
            continue;
        MEM_AUTOFREE char *sentence =
            mem_printf("has the key \"%s\" as [job %s] has: the two never run at the same time",
                       sorted[i]->key, sorted[i - 1]->name);
        print_note(sorted[i], false, sentence);
    }
    free(sorted);
}

void check_notes_print(const struct job_table *table, bool is_expected)
{
    struct hints hints = {0};
    if (table->count == 0 && is_expected)
        puts("warning: there is no job in the table");
    for (size_t i = 0; i < table->count; i++)
        print_outage(&table->jobs[i]);
    for (size_t i = 0; i < table->count; i++)
        print_hints(&hints, &table->jobs[i]);
    print_shared_keys(table);
}
