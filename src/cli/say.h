/* SPDX-License-Identifier: ISC */
/* What a command tells a person: faults as one line each on stderr, "leaserun: sentence", with
 * hostile bytes made harmless; stdout checked at the end. */
#pragma once
#include "base/error.h"
#include "conf/ini_text.h"

/* Prints the fault and returns the exit status that belongs to it. */
int say_error(const struct error *err);
void say_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* All of a file's faults, a line each. Returns EXIT_CONFIG. */
int say_faults(const struct ini_faults *faults);

/* Flushes stdout. Returns code, or EXIT_OUTPUT with a line on stderr when code was 0 and not all
 * of what was printed has been taken. Asked again it says nothing again. */
int say_flushed(int code);
