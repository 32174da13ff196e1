/* SPDX-License-Identifier: ISC */
/* cmocka with what must stand before it: include this, never cmocka.h itself. */
#pragma once
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define CASE_COUNT(table) (sizeof(table) / sizeof(table)[0])
