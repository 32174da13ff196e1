/* SPDX-License-Identifier: ISC */
/* Drives a real loop through frozen time: the clock goes from one alarm to the next, and each
 * rings at its instant. Nothing sleeps. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* Advances the clock to the earliest alarm, never back, and rings it. False when none is set. */
bool fake_clock_turn(uv_loop_t *loop);

/* Rings all that is due within ms from now, then advances the clock to there. */
void fake_clock_run_for(uv_loop_t *loop, int64_t ms);

/* Until no alarm is set; fails the test when there is no end to it. */
void fake_clock_run(uv_loop_t *loop);

/* The process is stopped: time goes by and nothing rings. What became due rings in the next
 * turns, in the order of their instants. */
void fake_clock_stop_for(int64_t ms);

/* The random part of each delay: none (delays are their longest) or all (their shortest). */
void fake_random_least(bool is_least);
