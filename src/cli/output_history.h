/* SPDX-License-Identifier: ISC */
/* `history --output-tail` for people: each run, and under it the end of what its command wrote. */
#pragma once
#include "store/store.h"

void output_history_print(const struct run_list *runs);
