/* SPDX-License-Identifier: ISC */
/* The options that belong to one command alone; each table ends with a row without option. Those
 * that many commands share are settings.c's. */
#pragma once
#include "conf/settings.h"

extern const struct setting command_options_run[];
extern const struct setting command_options_schedule[];
extern const struct setting command_options_status[];
extern const struct setting command_options_history[];
extern const struct setting command_options_release[];
extern const struct setting command_options_purge[];
extern const struct setting command_options_init[];
extern const struct setting command_options_check[];
extern const struct setting command_options_next[];
extern const struct setting command_options_import[];
extern const struct setting command_options_help[];
