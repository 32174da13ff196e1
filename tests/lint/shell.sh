#!/bin/sh
# SPDX-License-Identifier: ISC
# Every script parses, and says its licence in one of its first two lines, as every C file does.
cd "$(dirname "$0")/../.." || exit 1
status=0
for script in $(find tests packaging src man -name '*.sh' | sort); do
    sh -n "$script" || status=1
done
for file in $(find src tests packaging -name '*.[ch]' -o -path 'tests/*' -name '*.py' -o \
    -path 'tests/*' -name '*.sh' -o -name '*.bats' -o -path 'packaging/*' -name '*.sh' | sort); do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: ISC' ||
        { echo "$file:1: no SPDX line"; status=1; }
done
exit $status
