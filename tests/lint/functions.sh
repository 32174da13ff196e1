#!/bin/sh
# SPDX-License-Identifier: ISC
# No function over 80 lines and no .c file over 500, in src and tests.
cd "$(dirname "$0")/../.." || exit 1
files=$(find src tests -name '*.c' | sort)
status=0
# shellcheck disable=SC2086  # a list of words
wc -l $files | awk '$2 != "total" && $1 > 500 { print $2 ":1: " $1 " lines, at most 500"; bad = 1 }
    END { exit bad }' || status=1
# shellcheck disable=SC2086
ctags -x --c-kinds=f --fields=+ne --_xformat='%{input}:%{line}: %{name} %{end}' $files |
    awk '{ split($1, at, ":"); length_ = $3 - at[2] + 1 }
        length_ > 80 { print $1, $2, "has", length_, "lines, at most 80"; bad = 1 }
        END { exit bad }' || status=1
exit $status
