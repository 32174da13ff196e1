/* SPDX-License-Identifier: ISC */
/* Randomness from the kernel: names that must never repeat, and jitter. */
#pragma once
#include <stdint.h>

#define RANDOM_NONCE_DIGITS "abcdefghijklmnopqrstuvwxyz234567" /* RFC 4648 base32, lower case */
#define RANDOM_NONCE_CHARS  26

/* 130 random bits as 26 digits and a NUL: short, since rows and logs are full of them. */
void random_nonce(char ret_nonce[RANDOM_NONCE_CHARS + 1]);

/* A number from 0 to limit - 1; 0 when limit < 2. */
int64_t random_below(int64_t limit);
