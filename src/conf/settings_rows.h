/* SPDX-License-Identifier: ISC */
/* The rows of the one table of settings, by topic. Inside conf/ only; others read settings.h.
 *
 * Columns, of which those that say nothing are left out:
 *   option, key   its name on the command line and in the file; a row may have either or both
 *   group         whose it is: which commands take it, which section holds it, whose member it is
 *   type, offset  of the member that takes the value
 *   argument      the value's name in help; a switch has none
 *   initial       the default, as text that the type's parser reads; the member is 0 without
 *   least, most   of a number, in the unit of the member (a duration's is milliseconds)
 *   word          one that stands for word_value, such as "forever"
 *   choices       the words of a choice
 *   check         of a text: refuses what cannot be meant, without looking at this host's users,
 *                 files and folders
 *   example       shown in the sample file where there is no default
 *   help          one line, no full stop; manual: whole sentences that go on from it */
#pragma once
#include "conf/settings.h"

struct setting_rows {
    const struct setting *rows;
    size_t count;
};

extern const struct setting_rows settings_general;
extern const struct setting_rows settings_run;
extern const struct setting_rows settings_job;
extern const struct setting_rows settings_hook;
