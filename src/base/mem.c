/* SPDX-License-Identifier: ISC */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *checked(void *memory)
{
    if (memory == NULL) {
        static const char line[] = "leaserun: out of memory\n";
        ssize_t ignored = write(STDERR_FILENO, line, sizeof line - 1);
        (void)ignored;
        abort();
    }
    return memory;
}

void *mem_alloc(size_t bytes)
{
    return checked(calloc(1, bytes == 0 ? 1 : bytes));
}

void *mem_array(size_t count, size_t bytes)
{
    return checked(calloc(count == 0 ? 1 : count, bytes));
}

void *mem_grow(void *old, size_t count, size_t bytes)
{
    return checked(reallocarray(old, count == 0 ? 1 : count, bytes));
}

char *mem_strdup(const char *text)
{
    return text == NULL ? NULL : checked(strdup(text));
}

char *mem_strndup(const char *text, size_t length)
{
    return checked(strndup(text, length));
}

char *mem_dup(const void *bytes, size_t count)
{
    if (bytes == NULL)
        return NULL;
    char *copy = mem_alloc(count + 1);
    memcpy(copy, bytes, count);
    return copy;
}

char *mem_printf(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    return checked(length < 0 ? NULL : text);
}

void mem_wipe(char *secret)
{
    if (secret == NULL)
        return;
    explicit_bzero(secret, strlen(secret));
    free(secret);
}

void mem_autofree(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}
