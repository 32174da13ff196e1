#!/bin/sh
# SPDX-License-Identifier: ISC
# Breaks the program in one place at a time, and checks that a test sees it. Prints TAP.
#
#     tests/mutants/run.sh [--all] [NAME...]
#     tests/mutants/run.sh --list               # prints the table of README.md
#     tests/mutants/run.sh --apply              # whether each still changes something; builds nothing
#
# A mutant is a sed script of this folder; its head says what it does, to which files, and who must
# catch it:
#     # WHAT (PROMISES)
#     # file: PATH...
#     # model: MODEL MUTANT             the same rule in tests/model, if there
#     # caught by: unit|lease|run|schedule NAME    a program of the tests (pg_* need a server, as does store)
#     # caught by: store NAME             one of the contract suite, against PostgreSQL
#     # caught by: faults SEED SECONDS    the fault harness
# The first line "caught by" is tried, the others with --all only. Each test must pass on the
# program as it is; a mutant that no longer changes anything, does not build, or is not caught, is
# a failure. `meson setup -Dmutant=NAME` builds one by hand.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=$(cd "$here/../.." && pwd)

head_of() { # NAME WORD
    sed -n "s/^# $2: //p" "$here/$1.sed"
}

sentence_of() { # NAME
    sed -n '1s/^# //p' "$here/$1.sed"
}

names() {
    for script in "$here"/*.sed; do
        basename "$script" .sed
    done
}

# Each command of the script, a { block } as a whole, must change a file by itself: a mutant of which
# a part no longer applies may be harmless, or caught for another reason.
every_command_applies() { # NAME; prints those that do not
    commands=$(mktemp -d) || return 1
    awk -v folder="$commands" '
        /^#/ { next }
        depth == 0 { number++ }
        { print >(folder "/" number) }
        /\{$/ { depth++ }
        /^ *\}$/ { depth-- }' "$here/$1.sed"
    harmless=$(
        for command in "$commands"/*; do
            applies=false
            for file in $(head_of "$1" file); do
                sed -f "$command" "$top/$file" | cmp -s - "$top/$file" || applies=true
            done
            $applies || cat "$command"
        done
    )
    rm -rf "$commands"
    printf '%s\n' "$harmless"
    [ -z "$harmless" ]
}

if [ "${1-}" = --list ]; then
    echo '| mutant | what goes wrong | caught by | in the models |'
    echo '|---|---|---|---|'
    for name in $(names); do
        catchers=$(head_of "$name" 'caught by' | sed 's/.*/`&`/' | paste -sd, | sed 's/,/, /g')
        model=$(head_of "$name" model | sed 's/\([^ ]*\) \(.*\)/`\1`: `\2`/')
        echo "| \`$name\` | $(sentence_of "$name") | $catchers | $model |"
    done
    exit
fi
if [ "${1-}" = --apply ]; then
    status=0
    for name in $(names); do
        harmless=$(every_command_applies "$name") && continue
        echo "tests/mutants/$name.sed: the rule was written otherwise here, this changes nothing now: $harmless"
        status=1
    done
    exit $status
fi
is_all=false
[ "${1-}" != --all ] || { is_all=true && shift; }
work=$(mktemp -d "${TMPDIR:-/tmp}/leaserun-mutants.XXXXXX") || exit 1
chmod 711 "$work"
mkdir "$work/pg"
PG_ROOT=$work/pg
# shellcheck source=tests/lib/pg.sh
. "$top/tests/lib/pg.sh"
trap 'pg_stop_all; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
count=0
failed=0

tell() { # ok|no SENTENCE
    count=$((count + 1))
    if [ "$1" = ok ]; then
        echo "ok $count - $2"
    else
        failed=$((failed + 1))
        echo "not ok $count - $2"
        tail -n 12 "$work/log" | sed 's/^/#   /'
    fi
}

# 0: all is well; 1: the test has found something; others: it could not be run.
try() { # plain|broken KIND NAME...
    build=$work/$1
    kind=$2
    shift 2
    case $kind in
    faults)
        TMPDIR=$work BUILD=$build timeout --kill-after=30 $(($2 + 240)) \
            nice "$top/tests/faults/run" --seed "$1" --seconds "$2"
        ;;
    store) LEASERUN_TEST_STORE=postgresql meson test -C "$build" --no-rebuild "$*" ;;
    *) meson test -C "$build" --no-rebuild "$*" ;;
    esac >"$work/log" 2>&1
}

# What a broken guard leaves is ended here: whoever was started with the mark.
try_broken() { # KIND NAME...
    (
        MUTANT_MARK=$work
        export MUTANT_MARK
        try broken "$@"
    )
    tried=$?
    for environ in $(grep -lsz "^MUTANT_MARK=$work\$" /proc/[0-9]*/environ); do
        pid=${environ#/proc/}
        kill -KILL "${pid%/environ}" 2>/dev/null || true
    done
    return $tried
}

# Whether the unchanged program passes is asked once for each test.
passes() { # WORDS
    grep -qxF "$1" "$work/passed" 2>/dev/null && return
    # shellcheck disable=SC2086
    try plain $1 && echo "$1" >>"$work/passed"
}

# 1: a file stays as it is.
changes_its_files() { # NAME
    for file in $(head_of "$1" file); do
        ! cmp -s "$top/$file" "$work/broken/src/${file##*/}" || return 1
    done
}

check_mutant() { # NAME
    sentence="$1: $(sentence_of "$1")"
    head_of "$1" 'caught by' >"$work/catchers"
    $is_all || sed -i 1q "$work/catchers"
    while read -r catcher; do
        passes "$catcher" || { tell no "$catcher passes without a mutant" && return; }
    done <"$work/catchers"
    every_command_applies "$1" >"$work/log" ||
        { tell no "$sentence: a part of it no longer changes anything" && return; }
    meson configure "$work/broken" -Dmutant="$1" >"$work/log" 2>&1
    if ! ninja -C "$work/broken" >>"$work/log" 2>&1; then
        tell no "$sentence: it does not build"
    elif ! changes_its_files "$1"; then
        tell no "$sentence: it no longer changes anything"
    else
        while read -r catcher; do
            # shellcheck disable=SC2086
            try_broken $catcher
            case $? in
            1) tell ok "$sentence: $catcher" ;;
            *) tell no "$sentence: $catcher does not see it, status $?" ;;
            esac
        done <"$work/catchers"
    fi
}

builds() { # FOLDER
    meson setup "$work/$1" "$top" -Dtests=enabled -Doptimization=0 && ninja -C "$work/$1"
}

if ! { builds plain && builds broken && pg_start main; } >"$work/log" 2>&1; then
    tell no 'the program as it is builds, and a server starts'
    echo "1..$count"
    exit 1
fi
LEASERUN_TEST_PG=$(pg_url main postgres) && export LEASERUN_TEST_PG
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(names)
for name; do
    check_mutant "$name" </dev/null
done
echo "1..$count"
[ $failed -eq 0 ]
