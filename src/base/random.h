/* SPDX-License-Identifier: ISC */
/* Randomness from the kernel: names that must never repeat, and jitter. */
#pragma once
#include <stdint.h>

#define RANDOM_NONCE_CHARS 32

/* 128 random bits as 32 lower-case hexadecimal digits and a NUL. */
void random_nonce(char ret_nonce[RANDOM_NONCE_CHARS + 1]);

/* A number from 0 to limit - 1; 0 when limit < 2. */
int64_t random_below(int64_t limit);
