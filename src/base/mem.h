/* SPDX-License-Identifier: ISC */
/* Allocation that cannot return NULL: without memory the process says so and aborts, and its
 * guard ends the command. Everything returned here is freed with free(). */
#pragma once
#include <stddef.h>

void *mem_alloc(size_t bytes);               /* zeroed */
void *mem_array(size_t count, size_t bytes); /* zeroed; aborts when the product overflows */
void *mem_grow(void *old, size_t count, size_t bytes); /* not zeroed */
char *mem_strdup(const char *text);                    /* NULL gives NULL */
char *mem_strndup(const char *text, size_t length);
char *mem_dup(const void *bytes, size_t count); /* a NUL is put behind them; NULL gives NULL */
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Overwrites a secret before its memory is given back, then frees it. Takes NULL. */
void mem_wipe(char *secret);

#define MEM_AUTOFREE __attribute__((cleanup(mem_autofree)))
void mem_autofree(void *pointer_to_pointer);
