/* SPDX-License-Identifier: ISC */
/* What happened in a test, one line an event, each with the milliseconds since journal_start by
 * the frozen clock: "1001 claim #1 within 5000". The fakes write it, and a test compares the whole
 * of it: an event too many fails as one too few does. */
#pragma once
#include <stdint.h>

/* Begins an empty journal and freezes the clock. */
void journal_start(void);
void journal_done(void);

void journal_add(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *journal_text(void);
int journal_count(const char *part); /* how often part stands in it */

/* The instant 0 of the journal, in CLOCK_BOOTTIME milliseconds. */
#define JOURNAL_START_BOOT_MS INT64_C(7000000)
#define JOURNAL_START_WALL_US INT64_C(1767261600000000) /* 2026-01-01T10:00:00Z */

/* A boot instant as milliseconds since journal_start. */
int64_t journal_ms(int64_t boot_ms);

#define assert_journal(expected) assert_string_equal(journal_text(), expected)
