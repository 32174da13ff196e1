/* SPDX-License-Identifier: ISC */
/* What a run says: one event, one sentence, each fault once. */
#pragma once
#include "run/run.h"

void run_tell_claim(struct run *run, enum claim_result result);
void run_tell_retry(struct run *run); /* an attempt failed, and another will be made */
void run_tell_waits(struct run *run, const struct claim_item *answer);
void run_tell_early(struct run *run, const struct claim_item *answer);
void run_tell_lost(struct run *run, const char *other); /* facts: lost_reason or is_out_of_time */
void run_tell_renew_failed(struct run *run, const struct error *why, int64_t left_ms);
void run_tell_leftovers(struct run *run, int count, const char *names);
void run_tell_line(struct run *run, const struct command_line *line);
void run_tell_guard_died(struct run *run);
void run_tell_suspended(struct run *run, int number);
void run_tell_release(struct run *run); /* only what went wrong */
void run_tell_end(struct run *run, const struct run_record *record);

/* What became of a command that failed or ran into its timeout. */
#define RUN_TELL_FAILURE_MAX 128
const char *run_tell_failure(const struct run *run, const struct run_record *record,
                             char ret_text[RUN_TELL_FAILURE_MAX]);
