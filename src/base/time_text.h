/* SPDX-License-Identifier: ISC */
/* Instants and durations as text. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define TIME_TEXT_MAX 40

/* "2026-03-01T02:00:00.000000Z" (RFC 3339, UTC, microseconds). Returns its argument. */
const char *time_text_us(int64_t wall_us, char ret_text[TIME_TEXT_MAX]);

/* The same to the second: "2026-03-01T02:00:00Z". */
const char *time_text_s(int64_t wall_us, char ret_text[TIME_TEXT_MAX]);

/* A duration for people, its two largest units: "2m 5s", "1h 3m", "450ms", "0s". */
const char *time_text_span(int64_t ms, char ret_text[TIME_TEXT_MAX]);
