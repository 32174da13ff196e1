/* SPDX-License-Identifier: ISC */
/* For every slot one story: a row with one outcome in the store, and in the log the lines that its
 * outcome asks for, once each. What is allowed to be silent is whoever died before it could speak.
 */
#include "base/time_text.h"
#include "month.h"

#include <stdio.h>
#include <stdlib.h>

#define SPEAK_MS                                                                                   \
    7000 /* from an outcome in the store to its line: a release is given up after 5 s */

static const struct job_of_world {
    const char *job, *schedule, *zone;
    int64_t within_ms; /* a replica that is up for so long must have started the slot */
    bool may_skip;     /* a slot whose key is held is skipped, */
    bool may_miss;     /* or waits until its time is over */
    int table_bit;     /* only in tables where this bit is */
    bool is_bit_set;   /* so */
    bool is_minute;    /* claim_failed stands for slot_missed, and degrades */
} jobs[] = {
    {"tens", "every 10m", "UTC", .within_ms = 3 * MINUTE_MS},
    {"hourly", "7 * * * *", "UTC", .within_ms = 3 * MINUTE_MS},
    {"daily", "30 2 * * *", "Europe/Paris", .within_ms = 3 * MINUTE_MS},
    {"overlap", "every 5m", "UTC", .within_ms = 3 * MINUTE_MS, .may_skip = true},
    {"waiter", "*/30 * * * *", "UTC", .within_ms = 3 * MINUTE_MS, .may_miss = true},
    {"all", "20 * * * *", "UTC", .within_ms = 3 * MINUTE_MS},
    {"latest", "40 * * * *", "UTC", .within_ms = 3 * MINUTE_MS},
    {"late", "50 * * * *", "UTC", .within_ms = 8 * MINUTE_MS},
    {"left", "0 */4 * * *", "UTC", .within_ms = 3 * MINUTE_MS},
    {"right", "0 */6 * * *", "UTC", .within_ms = 3 * MINUTE_MS},
    {"retrying", "10 * * * *", "UTC", .within_ms = 3 * MINUTE_MS},
    {"minute", "every 60s", "UTC", .within_ms = 58000, .may_skip = true, .is_minute = true},
    {"edited", "*/20 * * * *", "UTC", .within_ms = 3 * MINUTE_MS, .table_bit = TABLE_EDITED},
    {"edited", "5-59/20 * * * *", "UTC", .within_ms = 3 * MINUTE_MS, .table_bit = TABLE_EDITED,
     .is_bit_set = true},
    {"sometimes", "15 * * * *", "UTC", .within_ms = 3 * MINUTE_MS, .table_bit = TABLE_WITHOUT},
};

static struct month_tally tally;

/* ---- what was told of a run ------------------------------------------------------------------ */

static struct telling {
    int won, finished, failed, stopped, lost, abandoned, not_released;
    const char *outcome;
} * tellings;
static size_t telling_count;

static struct telling *telling_of(const char *run_id)
{
    size_t at = world_number_of(run_id);
    return at < telling_count ? &tellings[at] : NULL;
}

static void hear(struct telling *telling, const struct model_line *line)
{
    telling->won += line->event == EVENT_CLAIM_WON;
    telling->failed += line->event == EVENT_RUN_FAILED;
    telling->stopped += line->event == EVENT_RUN_STOPPED;
    telling->lost += line->event == EVENT_LEASE_LOST;
    telling->abandoned += line->event == EVENT_RUN_ABANDONED;
    telling->not_released += line->event == EVENT_RELEASE_FAILED;
    if (line->event != EVENT_RUN_FINISHED)
        return;
    telling->finished++;
    telling->outcome = line->outcome;
}

static void hear_all(void)
{
    telling_count = 0;
    for (size_t i = 0; i < model_line_count; i++) {
        size_t number = world_number_of(model_lines[i].run_id);
        telling_count = number >= telling_count ? number + 1 : telling_count;
    }
    free(tellings);
    tellings = calloc(telling_count + 1, sizeof *tellings);
    assert_non_null(tellings);
    for (size_t i = 0; i < model_line_count; i++)
        if (model_lines[i].run_id[0] != '\0')
            hear(telling_of(model_lines[i].run_id), &model_lines[i]);
}

/* ---- slots, in order ------------------------------------------------------------------------- */

static int compare(const char *job_a, int64_t slot_a, const char *job_b, int64_t slot_b)
{
    int by_job = strcmp(job_a, job_b);
    int64_t a = slot_a / 1000000, b = slot_b / 1000000; /* those of shared keys lie apart */
    return by_job != 0 ? by_job : a < b ? -1 : a > b;
}

static int compare_runs(const void *a, const void *b)
{
    const struct model_run *x = a, *y = b;
    return compare(x->job, x->slot_us, y->job, y->slot_us);
}

static int compare_lines(const void *a, const void *b)
{
    const struct model_line *x = a, *y = b;
    return compare(x->job, x->slot_us, y->job, y->slot_us);
}

static size_t first_run(const char *job, int64_t slot_us)
{
    size_t least = 0, most = model_run_count;
    while (least < most) {
        size_t middle = (least + most) / 2;
        if (compare(model_runs[middle].job, model_runs[middle].slot_us, job, slot_us) < 0)
            least = middle + 1;
        else
            most = middle;
    }
    return least;
}

static size_t first_line(const char *job, int64_t slot_us)
{
    size_t least = 0, most = model_line_count;
    while (least < most) {
        size_t middle = (least + most) / 2;
        if (compare(model_lines[middle].job, model_lines[middle].slot_us, job, slot_us) < 0)
            least = middle + 1;
        else
            most = middle;
    }
    return least;
}

struct story {
    const struct job_of_world *job;
    int64_t slot_us;
    const struct model_run *run; /* the one row; NULL: none */
    bool is_kept_in_vain;        /* for the others it was started */
    int row_count, start_count;
    int missed_count, missed_error_count, skipped_count; /* lines that tell it first */
    int claim_failed_count;
    bool are_levels_wrong;
};

static void count_lines(struct story *story)
{
    const char *job = story->job->job;
    for (size_t i = first_line(job, story->slot_us); i < model_line_count; i++) {
        const struct model_line *line = &model_lines[i];
        if (compare(line->job, line->slot_us, job, story->slot_us) != 0)
            return;
        bool is_error = line->level == LEVEL_ERROR;
        if (line->event == EVENT_SLOT_MISSED) {
            story->missed_count += line->level > LEVEL_DEBUG;
            story->missed_error_count += is_error;
        } else if (line->event == EVENT_CLAIM_HELD) {
            story->skipped_count += line->level == LEVEL_INFO && line->outcome != NULL &&
                                    strcmp(line->outcome, "skipped") == 0;
        } else if (line->event == EVENT_CLAIM_FAILED) {
            story->claim_failed_count++;
            story->are_levels_wrong |= !is_error && !story->job->is_minute;
            tally.degraded += line->level == LEVEL_WARN;
        }
    }
}

#define LOOK_MS 4000 /* a claim that is undone sooner is seen to be by those who look again */

/* Its winner stood still with the slot won and not started, and gave it back when the others had
 * looked again. For as long as a lease lasts nobody can tell that from a start. */
static bool is_kept_in_vain(const struct model_run *run)
{
    if (!run->is_undone || run->undone_ms - run->written_ms < LOOK_MS)
        return false;
    for (size_t i = 0; i < month_span_count; i++)
        if (month_spans[i].host == run->writer->host && month_spans[i].from_ms <= run->written_ms &&
            month_spans[i].to_ms >= run->undone_ms)
            return false;
    return true;
}

static struct story story_of(const struct job_of_world *job, int64_t slot_us)
{
    struct story story = {.job = job, .slot_us = slot_us};
    for (size_t i = first_run(job->job, slot_us); i < model_run_count; i++) {
        const struct model_run *run = &model_runs[i];
        if (compare(run->job, run->slot_us, job->job, slot_us) != 0)
            break;
        story.start_count += run->start_count;
        story.row_count += !run->is_undone;
        story.is_kept_in_vain |= is_kept_in_vain(run);
        if (!run->is_undone)
            story.run = run;
    }
    count_lines(&story);
    return story;
}

static void complain(const struct story *story, const char *what)
{
    char slot[TIME_TEXT_MAX];
    const struct model_run *run = story->run;
    if (++tally.faults > 20)
        return;
    print_message("# %s %s: %s (rows %d, starts %d, outcome %s, run %s, missed told %d, skipped "
                  "told %d, claim failed told %d)\n",
                  story->job->job, time_text_s(story->slot_us, slot), what, story->row_count,
                  story->start_count, run == NULL ? "-" : run_outcome_name(run->outcome),
                  run == NULL ? "-" : run->run_id, story->missed_count, story->skipped_count,
                  story->claim_failed_count);
}

/* ---- whether somebody was there -------------------------------------------------------------- */

/* The store's clock did not change around the slot; then *ret_ms is when it came there. */
static bool find_true_time(int64_t slot_us, int64_t *ret_ms)
{
    int64_t slot_ms = (slot_us - WORLD_EPOCH_US) / 1000, skew_us = 0;
    for (size_t i = 0; i < month_step_count; i++) {
        const struct store_step *step = &month_steps[i];
        if (step->at_ms > slot_ms - 3 * HOUR_MS && step->at_ms < slot_ms + 20 * MINUTE_MS)
            return false;
        if (step->at_ms <= slot_ms)
            skew_us = step->skew_us;
    }
    *ret_ms = slot_ms - skew_us / 1000;
    return true;
}

static bool is_in_table(const struct job_of_world *job, int table)
{
    return job->table_bit == 0 || ((table & job->table_bit) != 0) == job->is_bit_set;
}

static bool had_job_throughout(const struct job_of_world *job, const struct span *span,
                               int64_t from_ms, int64_t to_ms)
{
    bool has_it = false;
    for (size_t i = 0; job->table_bit != 0 && i < replicas_reading_count; i++) {
        const struct reading *reading = &replicas_readings[i];
        if (reading->host != span->host || reading->at_ms > to_ms)
            continue;
        if (reading->at_ms <= from_ms)
            has_it = is_in_table(job, reading->table);
        else
            has_it &= is_in_table(job, reading->table);
    }
    return has_it || job->table_bit == 0;
}

/* A replica with room for it was up from before the slot until well after it, and the store was
 * there. */
static bool must_have_started(const struct story *story)
{
    int64_t slot_ms;
    if (story->is_kept_in_vain || !find_true_time(story->slot_us, &slot_ms))
        return false;
    int64_t from_ms = slot_ms - 40000, to_ms = slot_ms + story->job->within_ms;
    if (!model_network_was_up(from_ms, to_ms))
        return false;
    for (size_t i = 0; i < month_span_count; i++)
        if (month_spans[i].host != LIMITED_HOST && month_spans[i].from_ms <= from_ms &&
            month_spans[i].to_ms >= to_ms &&
            had_job_throughout(story->job, &month_spans[i], from_ms, to_ms))
            return true;
    return false;
}

/* ---- silence --------------------------------------------------------------------------------- */

static bool died_by(const struct replica *replica, int64_t ms)
{
    bool is_so = replica->died_ms != NEVER && replica->died_ms <= ms;
    tally.died_untold += is_so;
    return is_so;
}

static void check_not_started(const struct story *story)
{
    const struct model_run *run = story->run;
    bool is_missed = run->outcome == OUTCOME_MISSED;
    int told = is_missed ? story->missed_count : story->skipped_count;
    bool is_told_else = is_missed && story->job->is_minute && story->claim_failed_count > 0;
    if (told > 1)
        complain(story, "told more than once");
    if (story->start_count > 0)
        complain(story, "not started by the store, and was");
    if (told == 0 && run->is_outcome_heard && !is_told_else)
        complain(story, "recorded, and not told");
    /* An answer that is lost together with the store: claim_failed, at its level, stands for it. */
    if (told == 0 && !run->is_outcome_heard && run->writer->died_ms == NEVER &&
        story->claim_failed_count == 0)
        complain(story, "recorded by one who lives and has not heard of it");
    if (told == 1 && !run->is_outcome_heard)
        complain(story, "told by one who has not heard of it");
    if (is_missed && !story->job->is_minute && story->missed_error_count != story->missed_count)
        complain(story, "missed, and not at ERROR");
    tally.missed_told += is_missed && told == 1;
    tally.skipped_told += !is_missed && told == 1;
}

static bool is_run_undone(const char *run_id)
{
    for (size_t i = 0; i < model_run_count; i++)
        if (strcmp(model_runs[i].run_id, run_id) == 0)
            return model_runs[i].is_undone;
    return false;
}

static void check_abandoned(const struct story *story, const struct telling *telling)
{
    const struct model_run *run = story->run;
    if (telling->abandoned > 1)
        complain(story, "told as abandoned more than once");
    if (telling->abandoned == 0 && run->is_closing_heard)
        complain(story, "abandoned, and not told");
    /* A claim whose answer never came was undone, or was to be by one who was told to end and had
     * no more time; what it closed stays so, and only the store says it. */
    bool is_undone = is_run_undone(run->closed_by) || run->closer->is_stopped;
    tally.closed_unheard += telling->abandoned == 0 && is_undone;
    if (telling->abandoned == 0 && !run->is_closing_heard && !is_undone &&
        run->closer->died_ms == NEVER)
        complain(story, "closed as abandoned by one who lives and has not heard of it");
    tally.abandoned_told += telling->abandoned;
}

/* The lines of an outcome that its own leaserun tells. */
static void check_end_told(const struct story *story, const struct telling *telling)
{
    const struct model_run *run = story->run;
    bool is_written = run->ended_ms != NEVER;
    if (telling->finished > 1)
        complain(story, "told as finished more than once");
    if (telling->finished == 0 && is_written && !died_by(run->writer, run->ended_ms + SPEAK_MS))
        complain(story, "ended, and not told");
    /* Who was never told of its win has nothing to tell but claim_failed; not even that, when it
     * was stopped before it gave up. That it is abandoned tells the next winner. */
    bool has_heard = telling->won > 0 || story->start_count > 0;
    bool is_gone = run->writer->died_ms != NEVER || run->writer->is_stopped;
    if (!has_heard && !is_written && !is_gone && story->claim_failed_count == 0)
        complain(story, "won by one who lives and has told nothing");
    if (telling->finished == 0 && !is_written && has_heard && run->writer->died_ms == NEVER)
        complain(story, "its leaserun lives and has told no end");
    if (telling->finished == 0)
        return;
    if (is_written && strcmp(telling->outcome, run_outcome_name(run->outcome)) != 0)
        complain(story, "told with another outcome than the store's");
    if (!is_written && telling->not_released + telling->lost == 0)
        complain(story, "told as finished, and neither recorded nor told why not");
    bool is_failure = strcmp(telling->outcome, "failed") == 0 ||
                      strcmp(telling->outcome, "timed_out") == 0 ||
                      strcmp(telling->outcome, "not_started") == 0;
    if (telling->failed != (is_failure ? 1 : 0))
        complain(story, "run_failed told wrongly");
    if (telling->stopped != (strcmp(telling->outcome, "stopped") == 0 ? 1 : 0))
        complain(story, "run_stopped told wrongly");
    if (strcmp(telling->outcome, "lost") == 0 && telling->lost != 1)
        complain(story, "lost, and lease_lost was not told once");
}

static void check_started(const struct story *story)
{
    static const struct telling silence;
    const struct model_run *run = story->run;
    const struct telling *telling = telling_of(run->run_id);
    telling = telling == NULL ? &silence : telling;
    if (story->start_count > 0 && telling->won != 1)
        complain(story, "claim_won was not told once");
    if (run->outcome == OUTCOME_ABANDONED)
        check_abandoned(story, telling);
    else if (telling->abandoned != 0)
        complain(story, "told as abandoned, and has another outcome");
    check_end_told(story, telling);
}

/* ---- one slot -------------------------------------------------------------------------------- */

/* More slots than are told one by one have passed: the log says so. */
static bool is_cut(const struct story *story)
{
    for (size_t i = first_line(story->job->job, NO_INSTANT); i < model_line_count; i++) {
        const struct model_line *line = &model_lines[i];
        if (strcmp(line->job, story->job->job) != 0 || line->slot_us != NO_INSTANT)
            break;
        int64_t oldest_us =
            WORLD_EPOCH_US + (line->at_ms - (SLOTS_BACKLOG_MOST - 2) * MINUTE_MS) * 1000;
        if (line->event == EVENT_SLOT_MISSED && story->slot_us < oldest_us)
            return true;
    }
    return false;
}

static void check_without_row(const struct story *story, bool is_known)
{
    if (must_have_started(story)) {
        complain(story, "lost, though a replica was up in its window: no row");
    } else if (is_known && story->job->table_bit == 0) {
        bool is_told = story->job->is_minute && (story->claim_failed_count > 0 || is_cut(story));
        tally.told_instead += is_told;
        if (!is_told)
            complain(story, "no story");
    }
}

/* Of a leaserun that was killed the next winner tells. */
static bool has_next_winner(const struct story *story)
{
    const struct model_run *run = story->run;
    for (size_t i = first_run(story->job->job, story->slot_us + 1000000); i < model_run_count;
         i++) {
        const struct model_run *next = &model_runs[i];
        if (strcmp(next->job, story->job->job) != 0)
            return false;
        if (next->fence > 0 && !next->is_undone && next->written_ms > run->written_ms)
            return true;
    }
    return false;
}

static void check_slot(const struct job_of_world *job, int64_t slot_us, bool is_known)
{
    struct story story = story_of(job, slot_us);
    tally.slots++;
    if (story.start_count > 1)
        complain(&story, "started twice");
    if (story.row_count > 1)
        complain(&story, "several stories in the store");
    if (story.are_levels_wrong)
        complain(&story, "claim_failed, and not at ERROR");
    if (story.run == NULL) {
        check_without_row(&story, is_known);
        return;
    }
    enum run_outcome outcome = story.run->outcome;
    bool has_next = has_next_winner(&story);
    if (outcome == OUTCOME_NONE && has_next && job->table_bit == 0)
        complain(&story, "its story has no end");
    if (outcome == OUTCOME_NOT_STARTED && story.start_count == 0)
        complain(&story, "kept although it could not be started");
    bool is_lost = (outcome == OUTCOME_MISSED && !job->may_miss) ||
                   (outcome == OUTCOME_SKIPPED && !job->may_skip);
    if (is_lost && must_have_started(&story))
        complain(&story, "lost, though a replica was up in its window");
    if (outcome == OUTCOME_MISSED || outcome == OUTCOME_SKIPPED)
        check_not_started(&story);
    else if (outcome != OUTCOME_NONE || has_next)
        check_started(&story);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int64_t first_known_us(const struct job_of_world *job)
{
    size_t i = first_run(job->job, WORLD_EPOCH_US);
    bool has_one = i < model_run_count && strcmp(model_runs[i].job, job->job) == 0;
    return has_one ? model_runs[i].slot_us : INT64_MAX;
}

static void check_job(const struct job_of_world *job, int64_t to_ms)
{
    struct error err;
    struct slots slots = {.zone = zone_find(job->zone, &err)};
    assert_non_null(slots.zone);
    assert_true(cron_parse(job->schedule, job->job, &slots.cron, &err));
    int64_t slot_us = WORLD_EPOCH_US, known_us = first_known_us(job);
    while ((slot_us = slots_next(&slots, slot_us)) < WORLD_EPOCH_US + to_ms * 1000)
        check_slot(job, slot_us, slot_us >= known_us);
}

struct month_tally month_check(int64_t to_ms)
{
    tally = (struct month_tally){0};
    qsort(model_runs, model_run_count, sizeof *model_runs, compare_runs);
    qsort(model_lines, model_line_count, sizeof *model_lines, compare_lines);
    hear_all();
    for (size_t j = 0; j < CASE_COUNT(jobs); j++)
        check_job(&jobs[j], to_ms);
    return tally;
}
