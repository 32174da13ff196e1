#!/bin/sh
# SPDX-License-Identifier: ISC
# What the documents say of mutants is what the mutants' heads say, and a mutant of the models that
# is named there exists. Each mutant of the program still changes it.
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0

for folder in tests/mutants tests/model; do
    sh "$folder/run.sh" --list >"$work/list" || status=1
    # Of the document, the table that begins with the same line.
    awk 'NR == FNR { if (first == "") first = $0; next }
         $0 == first { inside = 1 }
         !/^\|/ { inside = 0 }
         inside' "$work/list" "$folder/README.md" >"$work/table"
    diff -u --label "$folder/README.md" --label "$folder/run.sh --list" "$work/table" "$work/list" ||
        status=1
done
sed -n 's/^# model: //p' tests/mutants/*.sed >"$work/named"
while read -r model mutant; do
    grep -q "^ \* mutant $mutant " "tests/model/$model.pml" ||
        { echo "tests/mutants: the model $model has no mutant $mutant" && status=1; }
done <"$work/named"
sh tests/mutants/run.sh --apply || status=1
exit $status
