#!/bin/sh
# SPDX-License-Identifier: ISC
# Searches the models of this folder with spin and prints TAP.
#
#     tests/model/run.sh [--long] [MODEL...]
#     tests/model/run.sh --list                 # prints the mutants as README.md has them
#
# A model's header says what is to be done with it:
#     bounds: -D...                  search all states; every promise of the model must hold
#     bounds long: -D...             the same, with --long only
#     ltl NAME[, -D...]: ...         a formula of the model must hold on every fair path
#     reach[, -D...]: EXPR -- ...    some state must satisfy EXPR
#     mutant NAME[ -D...] breaks P: ...  with -DNAME, promise P (or formula P) must fail
# Formulas, reach and mutants use the first bounds. A search that was cut short is a failure.

set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd) || exit 1
all_models='claim expiry guard slots runs purge'

header() { # model, word
    sed -n "2,/\*\//s/^ \* \($2\)/\1/p" "$here/$1.pml" | sed 's| \*/$||'
}

if [ "${1-}" = --list ]; then
    echo '| model | mutant | breaks |'
    echo '|---|---|---|'
    for model in $all_models; do
        header "$model" 'mutant ' |
            sed "s/^mutant \([A-Z_]*\).* breaks \([A-Za-z0-9_]*\): \(.*\)/| \`$model\` | \3 (\`\1\`) | \2 |/"
    done
    exit
fi

is_long=false
if [ "${1-}" = --long ]; then
    is_long=true
    shift
fi
# Of one search; with --long the largest takes two minutes and 3 GB when it has a core for itself.
search_s=900 memory_mb=1500
if $is_long; then search_s=3600 memory_mb=4000; fi

count=0
failed=0

tell() { # result, sentence
    count=$((count + 1))
    if [ "$1" = ok ]; then
        echo "ok $count - $2"
    else
        failed=$((failed + 1))
        echo "not ok $count - $2"
    fi
}

for tool in spin gcc; do
    if ! command -v $tool >/dev/null; then
        echo "1..0 # SKIP the package $tool is not installed"
        exit 0
    fi
done

work=$(mktemp -d) || exit 1
searcher=
trap '[ -z "$searcher" ] || kill $searcher; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cp "$here"/*.pml "$work" && cd "$work" || exit 1

# Builds the searcher of a model and runs it; the report is in $work/report.
search() { # model, kind of gcc flags, flags of the search, -D...
    model=$1 kind=$2 flags=$3
    shift 3
    rm -f pan pan.* ./*.trail
    if ! spin "$@" -a "$model.pml" >report 2>&1; then
        echo "spin cannot read the model" >>report
        return 1
    fi
    # shellcheck disable=SC2086
    if ! gcc $kind -w -DNOREDUCE -DMEMLIM=$memory_mb -o pan pan.c >>report 2>&1; then
        echo "gcc cannot build the search" >>report
        return 1
    fi
    # shellcheck disable=SC2086
    timeout $search_s ./pan $flags >report 2>&1 &
    searcher=$!
    wait $searcher
    searcher=
}

is_whole() { # the search went everywhere
    grep -q 'errors: 0$' report &&
        ! grep -qE 'max search depth too small|not completed|MEMLIM|out of memory|aborted' report
}

broken() { # the promise that failed, or the report's own words
    sed -n 's/^pan:[0-9]*: //p' report | sed 's/ (at depth.*//' | head -n 1
}

explain() { # model
    grep -E '^pan:|errors:|spin|gcc|error' report | head -n 5 | sed 's/^/# /'
    [ -f "$1.pml.trail" ] && spin -t -p -g "$1.pml" 2>/dev/null | grep -E '^ *[0-9]+:' |
        tail -n 15 | sed 's/^/# /'
}

size() {
    awk '/states, stored/ { states = $1 } /depth reached/ { depth = $6; sub(",", "", depth) }
         /elapsed time/ { seconds = $4 }
         END { printf "%d states, depth %d, %s s", states, depth, seconds }' report
}

promises() { # model
    sed -n 's|^hidden byte \(P[0-9]*_[a-z_]*\); */\* *\(.*\) \*/$|\1 \2|p' lease.pml "$1.pml"
}

check_bounds() { # model, text for long bounds, -D...
    model=$1 bounds=$2
    shift 2
    search "$model" "-O2 -DSAFETY -DNOCLAIM" "-m1000000 -w22" "$@"
    echo "# $model $*: $(size)"
    is_whole && whole=true || whole=false
    why=$(broken)
    promises "$model" >promised
    while read -r promise sentence; do
        if $whole; then
            tell ok "$model: $sentence ($promise)$bounds"
        else
            tell no "$model: $sentence ($promise)$bounds"
            echo "# ${why:-the search was cut short}"
        fi
    done <promised
    if $whole; then
        tell ok "$model: no process is stuck, and the search was whole$bounds"
    else
        tell no "$model: no process is stuck, and the search was whole$bounds"
        explain "$model"
    fi
}

check_formula() { # model, formula, sentence, -D...
    model=$1 formula=$2 sentence=$3
    shift 3
    search "$model" "-O1 -DNFAIR=5" "-a -f -m1000000 -w20 -N $formula" "$@"
    echo "# $model $formula $*: $(size)"
    if is_whole; then
        tell ok "$model: $sentence ($formula)"
    else
        tell no "$model: $sentence ($formula)"
        explain "$model"
    fi
}

check_reach() { # model, expression, sentence, -D...
    name=$1 expression=$2 sentence=$3
    shift 3
    { cat "$name.pml" && echo "active proctype witness() { end: ($expression) -> assert(false) }"; } >reach.pml
    search reach "-O0 -DSAFETY -DNOCLAIM" "-m50000 -w18" "$@"
    if [ "$(broken)" = "assertion violated 0" ]; then
        tell ok "$name reaches: $sentence"
    else
        tell no "$name reaches: $sentence"
        explain reach
    fi
}

check_mutant() { # model, mutant, promise, sentence, -D...
    name=$1 mutant=$2 promise=$3 sentence=$4
    shift 4
    # The other promises are kept silent: 1 for their names makes them hold.
    for file in lease "$name"; do
        sed "/^hidden byte $promise;/!s/^\(hidden byte P[0-9]_[a-z_]*\);/\1 = 1;/" "$here/$file.pml" >"$file.pml"
    done
    mv "$name.pml" mutant.pml
    case $promise in
    P*) search mutant "-O0 -DSAFETY -DNOCLAIM" "-m50000 -w18" "$@" "-D$mutant" ;;
    *) search mutant "-O0 -DNFAIR=5" "-a -f -m50000 -w18 -N $promise" "$@" "-D$mutant" ;;
    esac
    case $promise:$(broken) in
    P*:*"|$promise)"* | [!P]*:"acceptance cycle"*) tell ok "$name fails, as it must, when $sentence ($mutant)" ;;
    *)
        tell no "$name fails, as it must, when $sentence ($mutant should break $promise)"
        explain mutant
        ;;
    esac
    cp "$here/lease.pml" "$here/$name.pml" .
}

check_model() {
    name=$1
    first=$(header "$name" 'bounds:' | head -n 1 | sed 's/^bounds: *//')
    header "$name" 'bounds' >bounds_of_model
    of=
    while read -r line; do
        case $line in
        'bounds long:'*) $is_long || break ;;
        esac
        defines=${line#*: }
        # shellcheck disable=SC2086
        check_bounds "$name" "${of:+ with $defines}" $defines </dev/null
        of=others
    done <bounds_of_model
    header "$name" 'ltl ' >formulas
    while IFS= read -r line; do
        what=${line%%: *} sentence=${line#*: }
        what=${what#ltl }
        # shellcheck disable=SC2046,SC2086
        check_formula "$name" "${what%% *}" "$sentence" $first $(echo "$what " | cut -d' ' -f2-) </dev/null
    done <formulas
    header "$name" 'reach' >reached
    while IFS= read -r line; do
        what=${line%%: *} rest=${line#*: }
        # shellcheck disable=SC2086
        check_reach "$name" "${rest%% -- *}" "${rest#* -- }" $first ${what#reach} </dev/null
    done <reached
    header "$name" 'mutant ' >mutants
    while IFS= read -r line; do
        what=${line%%: *} sentence=${line#*: }
        promise=${what##* breaks } what=${what%% breaks *}
        what=${what#mutant }
        # shellcheck disable=SC2046,SC2086
        check_mutant "$name" "${what%% *}" "$promise" "$sentence" $first $(echo "$what " | cut -d' ' -f2-) </dev/null
    done <mutants
}

# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $all_models
for model in "$@"; do
    check_model "$model"
done
echo "1..$count"
[ $failed -eq 0 ]
