/* SPDX-License-Identifier: ISC */
/* cmocka with what must stand before it: include this, never cmocka.h itself. */
#pragma once
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
/* clang-format on */

#define CASE_COUNT(table) (sizeof(table) / sizeof(table)[0])

/* For what no program can do there: valgrind keeps descriptors of its own in the process, and
 * makes it some thirty times slower. It says so by what it preloads. */
#define IS_UNDER_VALGRIND                                                                          \
    (getenv("LD_PRELOAD") != NULL && strstr(getenv("LD_PRELOAD"), "vgpreload") != NULL)
#define SKIP_UNDER_VALGRIND()                                                                      \
    do {                                                                                           \
        if (IS_UNDER_VALGRIND)                                                                     \
            skip();                                                                                \
    } while (0)
