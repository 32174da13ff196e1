#!/bin/sh
# SPDX-License-Identifier: ISC
# The fault harness within the suite: a few seeds, each judged promise by promise, as TAP.
#
#     BUILD=FOLDER tests/faults/suite.sh [--soak]
#
# --soak: instead, one run of SOAK_S seconds (600 when not set), from a seed of its own.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
status=0
count=0

# Numbers the lines "ok - ..." as they come.
judged() { # SEED SECONDS
    fresh=$(mktemp) || exit 1
    "$here/run" --seed "$1" --seconds "$2" --tap "seed $1: " >"$fresh" 2>&1 || status=1
    grep -qE '^(not )?ok' "$fresh" || echo "not ok - seed $1: the harness runs" >>"$fresh"
    while IFS= read -r line; do
        case $line in
        ok* | 'not ok'*) count=$((count + 1)) && echo "${line%%ok -*}ok $count -${line#*ok -}" ;;
        '#'*) printf '%s\n' "$line" ;;
        *) printf '# %s\n' "$line" ;;
        esac
    done <"$fresh"
    rm -f "$fresh"
}

if [ "${1-}" = --soak ]; then
    judged "$(date +%s)" "${SOAK_S:-600}"
else
    judged 36 45
    judged 7 20
fi
echo "1..$count"
exit $status
