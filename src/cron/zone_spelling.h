/* SPDX-License-Identifier: ISC */
/* "europe/paris" for "Europe/Paris": file names tell small letters from capitals, people do not. */
#pragma once
#include "base/text.h"

#include <stdbool.h>

/* Adds to *out the name in the folder that differs from this one in the size of letters alone;
 * false when there is none. */
bool zone_spelling_find(const char *folder, const char *name, struct text *out);
