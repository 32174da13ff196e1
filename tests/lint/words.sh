#!/bin/sh
# SPDX-License-Identifier: ISC
# The project speaks of itself alone: no paths of somebody's machine, no papers that are not in
# it, no numbers of somebody's tracker, no package hosts, and no notes to self.
cd "$(dirname "$0")/../.." || exit 1
# Brackets keep this file from finding itself.
patterns='(^|[^A-Za-z0-9_}.])/[w]ork/|/[t]mp/brief|[.][.]/[s]hared|\b[s]hared/(seeds|bench|cron|DESIGN)'
patterns="$patterns|[D]ESIGN\\.md|[H]AZARDS|[F]IELD-REPORTS|[P]EERS\\.md|[S]TYLE\\.md"
patterns="$patterns|\\b[Ii]ssue #?[0-9]|[p]ypi\\.org|[n]pmjs\\.org|[p]roxy\\.golang|[c]rates\\.io"
patterns="$patterns|[d]eb\\.debian\\.org|\\b([T]ODO|[F]IXME|[X]XX)\\b|[s]ubagent"
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -co --exclude-standard
else
    find . -type f ! -path './build*' ! -path './.git/*'
fi | sort | while read -r file; do
    [ ! -f "$file" ] || printf '%s\n' "$file"
done | tr '\n' '\0' | { ! xargs -0 grep -nIE "$patterns" --; }
