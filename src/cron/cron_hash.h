/* SPDX-License-Identifier: ISC */
/* A number that is the same on every replica: FNV-1a over the bytes, then mixed so that every bit
 * of the result depends on all of them. Not for secrets. */
#pragma once
#include <stdint.h>

uint64_t cron_hash_text(const char *text); /* NULL as "" */
uint64_t cron_hash_with(uint64_t hash, uint64_t number);
