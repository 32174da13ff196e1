/* SPDX-License-Identifier: ISC */
#include "schedule/streak.h"

enum level streak_fail(struct streak *streak, bool repeats_within_minute,
                       enum job_claim_failure claim_failure)
{
    bool may_degrade = repeats_within_minute && claim_failure == JOB_CLAIM_FAILURE_AUTO;
    streak->count++;
    return may_degrade && streak->count < STREAK_ERROR_FROM ? LEVEL_WARN : LEVEL_ERROR;
}

void streak_restart(struct streak *streak)
{
    streak->count = 0;
}
