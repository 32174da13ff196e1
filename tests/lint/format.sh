#!/bin/sh
# SPDX-License-Identifier: ISC
# clang-format leaves every C file as it is. Tells the first place of each file.
cd "$(dirname "$0")/../.." || exit 1
find src tests -name '*.[ch]' | sort | xargs clang-format-14 --dry-run -Werror 2>&1 |
    awk -F: '/: error:/ && !seen[$1]++ { print; bad = 1 } END { exit bad }'
