/* SPDX-License-Identifier: ISC */
/* Two columns for help: a name at indent, its text from column on, broken at blanks before 80. */
#pragma once

#define WRAP_COLUMNS 80

/* A name that reaches into the text's column gets a line of its own. name may be "". */
void wrap_print(int indent, const char *name, int column, const char *text);
