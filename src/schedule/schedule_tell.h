/* SPDX-License-Identifier: ISC */
/* What a scheduler says: one event, one sentence. */
#pragma once
#include "base/error.h"
#include "conf/ini_text.h"
#include "log/event.h"

#include <stdint.h>

struct scheduler;
struct turn;

/* ---- of a turn ---- */
void schedule_tell_claim_failed(struct turn *turn, enum level level, int streak);
void schedule_tell_missed(struct turn *turn, enum level level);
void schedule_tell_skipped(struct turn *turn);
/* Nothing was started here, and the slot is open; told once for a turn. */
void schedule_tell_not_started(struct turn *turn, const struct error *why);
void schedule_tell_difference(struct turn *turn);
void schedule_tell_taken_over(struct turn *turn);
void schedule_tell_given_up(struct turn *turn);

/* ---- of the scheduler ---- */
void schedule_tell_ready(struct scheduler *scheduler);
void schedule_tell_backlog_cut(struct scheduler *scheduler, const char *job);
void schedule_tell_clock_stepped(struct scheduler *scheduler, int64_t by_us);
void schedule_tell_clock_ahead(struct scheduler *scheduler, int64_t ahead_us);
void schedule_tell_store_lost(struct scheduler *scheduler, const struct error *why);
void schedule_tell_store_down(struct scheduler *scheduler, const struct error *why, int64_t ms);
void schedule_tell_store_restored(struct scheduler *scheduler, int64_t ms, int late_count,
                                  int missed_count);
void schedule_tell_store_note(struct scheduler *scheduler, bool is_grave, const char *text);
void schedule_tell_reloaded(struct scheduler *scheduler);
void schedule_tell_reload_failed(struct scheduler *scheduler, const struct ini_faults *faults);
void schedule_tell_stopping(struct scheduler *scheduler, int number, int command_count);
void schedule_tell_refused(struct scheduler *scheduler, const struct error *why);
void schedule_tell_upkeep_failed(struct scheduler *scheduler, const struct error *why);
