/* SPDX-License-Identifier: ISC */
/* What the fuzz targets share. Each *_fuzz.c defines LLVMFuzzerTestOneInput; linked with libFuzzer
 * it is searched for new paths, linked with driver.c it is run over its seeds and a fixed number of
 * mutations of them. A target says what must hold with FUZZ_CHECK. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz_fail(#condition, __FILE__, __LINE__))
void fuzz_fail(const char *condition, const char *file, int line) __attribute__((noreturn));

/* The bytes of a test case, taken from the front; past the end everything is 0. */
struct fuzz_input {
    const uint8_t *at, *end;
};
bool fuzz_is_over(const struct fuzz_input *input);
unsigned fuzz_byte(struct fuzz_input *input);
unsigned fuzz_below(struct fuzz_input *input, unsigned bound);

/* Small values, values about now, and the ends of the range. */
int64_t fuzz_int64(struct fuzz_input *input);

/* The bytes up to the next NUL, in memory of their exact size. The caller frees. */
char *fuzz_string(struct fuzz_input *input);

/* Every byte is part of UTF-8 as RFC 3629 section 4 has it, by its own grammar. */
bool fuzz_is_utf8(const char *text, size_t length);

/* No control characters, which a terminal would act on or a reader of lines would split at. */
bool fuzz_is_one_line(const char *text);
