#!/bin/sh
# SPDX-License-Identifier: ISC
# Builds leaserun and runs its tests, on Debian 12, as root, from anywhere:
#
#   sh tests/run.sh [FILE.bats...]
#   sh tests/run.sh --long [PART...]
#
# Installs missing packages, builds in build-ci (BUILD=FOLDER uses that one as it is), starts a
# private PostgreSQL, and runs lint, unit and contract tests, the models and the whole-program
# tests; with files named, only these. --long adds sanitizers, valgrind, analyzers, fuzzers, a soak
# and more (tests/lib/long.sh); with parts named, only those. The last line is "N passed, N failed";
# the status is 0 only when something ran and nothing failed.
set -u
cd "$(dirname "$0")/.." || exit 1
top=$(pwd)
long=no
[ "${1:-}" != --long ] || { long=yes && shift; }
# shellcheck source=packaging/packages.sh
. "$top/packaging/packages.sh"
# shellcheck disable=SC2086  # lists of words
install_packages $build_packages $test_packages || exit 1
# shellcheck disable=SC2086
[ $long = no ] || install_packages $long_test_packages || exit 1

# The name marks our processes: whoever still has it in the end was left behind.
work=$(mktemp -d "${TMPDIR:-/tmp}/leaserun-test.XXXXXX") || exit 1
chmod 711 "$work"
mkdir "$work/pg" "$work/tmp"
chmod 1777 "$work/tmp"
results=$work/results
: >"$results"
export PG_ROOT="$work/pg" TMPDIR="$work/tmp" LC_ALL=C.UTF-8 TEST_MARK="$work"
unset PGHOST PGPORT PGUSER PGDATABASE PGPASSWORD PGSERVICE PGOPTIONS LEASERUN_STORE LEASERUN_STORE_FILE
# shellcheck source=tests/lib/pg.sh
. "$top/tests/lib/pg.sh"
models=
trap '[ -z "$models" ] || kill $models; pg_stop_all; rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

say() {
    printf '%s\n' "$*"
}

tally() {
    python3 "$top/tests/lib/tally.py" --results "$results" "$@"
}

# timed PART COMMAND...: says how long it took.
timed() {
    timed_part=$1 begin=$(date +%s)
    shift
    "$@"
    say "$timed_part took $(($(date +%s) - begin)) s"
}

# case_of PART NAME COMMAND...: one counted case; its output is shown when it fails. 77: skipped.
case_of() {
    case_name="$1: $2"
    shift 2
    "$@" >"$work/case.log" 2>&1
    case $? in
    0) printf 'pass\t%s\n' "$case_name" >>"$results" ;;
    77) printf 'skip\t%s\n' "$case_name" >>"$results" ;;
    *)
        printf 'fail\t%s\n' "$case_name" >>"$results"
        say "FAILED $case_name"
        tail -n 60 "$work/case.log" | sed 's/^/    /'
        ;;
    esac
}

# build FOLDER [MESON OPTION...]
build() {
    folder=$1
    shift
    if [ -e "$folder/build.ninja" ]; then
        set -- --reconfigure "$@"
    fi
    meson setup "$folder" -Dwerror=true -Dtests=enabled "$@" && ninja -C "$folder"
}

lint() { # BUILD
    for script in tests/lint/*.sh; do
        name=${script##*/}
        case_of lint "${name%.sh}" env BUILD="$1" sh "$script"
    done
}

# meson_tests BUILD PART [MESON TEST OPTION...]
meson_tests() {
    folder=$1 part=$2
    shift 2
    rm -f "$folder/meson-logs/testlog.json"
    CMOCKA_MESSAGE_OUTPUT=TAP meson test -C "$folder" --no-rebuild "$@" >"$work/meson.log" 2>&1 || {
        say "Again, one by one: $part"
        CMOCKA_MESSAGE_OUTPUT=TAP meson test -C "$folder" --no-rebuild --num-processes 1 "$@" \
            >"$work/meson.log" 2>&1
    }
    if [ -s "$folder/meson-logs/testlog.json" ]; then
        tally --part "$part" --meson "$folder/meson-logs/testlog.json"
    else
        case_of "$part" 'meson test' sh -c 'cat "$1"; false' sh "$work/meson.log"
    fi
}

# The unit tests need no store; the contract suite runs once for each, and for each dialect.
cmocka_tests() { # BUILD PART
    unset LEASERUN_TEST_STORE
    meson_tests "$1" "$2" --no-suite store
    LEASERUN_TEST_STORE=sqlite meson_tests "$1" "$2 sqlite" --suite store
    LEASERUN_TEST_STORE=postgresql meson_tests "$1" "$2 postgresql" --suite store
    LEASERUN_TEST_STORE=fenceless meson_tests "$1" "$2 fenceless" --suite store
    LEASERUN_TEST_STORE=shedlock meson_tests "$1" "$2 shedlock" --suite store
}

# The pairs "FILE KIND" of the whole-program tests.
bats_jobs() {
    for file; do
        for kind in $(sed -n 's/^# stores: //p' "$file"); do
            say "$file $kind"
        done
    done
}

# What a file made of its own servers would be in its way the second time.
forget_servers() {
    for server in "$PG_ROOT"/*/data; do
        [ -e "$server/postmaster.pid" ] || [ ! -e "$server/PG_VERSION" ] || rm -rf "${server%/data}"
    done
}

# Most of these tests have bounds of time, and several files share the machine. A file in which one
# was missed is run once more, alone: what is wrong fails there too.
bats_again() {
    for status in "$work"/tap/*.status; do
        [ "$(cat "$status")" -ne 0 ] || continue
        name=${status##*/}
        name=${name%.status}
        say "Again, alone: $name"
        sed -n 's/^not ok /    /p' "${status%.status}.tap"
        forget_servers
        BUILD="$BUILD" TAP="$work/tap" sh tests/lib/bats_file.sh "tests/cli/${name%.*}.bats" \
            "${name##*.}"
    done
}

# bats_tests PART JOBS FILE...: JOBS files at a time, since most of a test's time is waiting.
bats_tests() {
    part=$1 jobs=$2
    shift 2
    rm -rf "$work/tap" && mkdir "$work/tap"
    bats_jobs "$@" | BUILD="$BUILD" TAP="$work/tap" xargs -P "$jobs" -L 1 \
        sh tests/lib/bats_file.sh
    bats_again
    for tap in "$work"/tap/*.tap; do
        name=${tap##*/}
        tally --part "$part ${name%.tap}" --tap "$tap" --status "$(cat "${tap%.tap}.status")"
    done
}

# The models are searched in the background, while the whole-program tests wait.
start_models() { # [--long]
    nice sh tests/model/run.sh "$@" >"$work/model.tap" 2>&1 </dev/null &
    models=$!
}

finish_models() {
    wait $models
    tally --part model --tap "$work/model.tap" --status $?
    models=
}

# tap PART COMMAND...: a program whose output is TAP.
tap() {
    part=$1
    shift
    "$@" >"$work/part.tap" 2>&1 </dev/null
    tally --part "$part" --tap "$work/part.tap" --status $?
}

start_server() {
    pg_start main && BUILD=$1 && export BUILD &&
        pg_sql main postgres 'create database leaserun_template' &&
        "$BUILD/src/leaserun" init --store "$(pg_url main leaserun_template)"
}

finish() {
    pg_stop_all
    case_of end 'no process is left behind' \
        env -u TEST_MARK -u PG_ROOT -u TMPDIR python3 tests/lib/leftovers.py "TEST_MARK=$work" $$
    passed=$(grep -c '^pass' "$results")
    failed=$(grep -c '^fail' "$results")
    skipped=$(grep -c '^skip' "$results")
    if [ "$failed" -gt 0 ] && [ -e "$PG_ROOT/main/log" ]; then
        say 'The last lines of the PostgreSQL log:'
        tail -n 40 "$PG_ROOT/main/log" | cut -c 1-300 | sed 's/^/    /'
    fi
    [ "$skipped" -eq 0 ] || { say 'Skipped:' && sed -n 's/^skip\t/    /p' "$results"; }
    say "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
    exit
}

if [ -z "${BUILD:-}" ]; then
    BUILD=$top/build-ci
    case_of build 'with warnings as errors' build "$BUILD"
    grep -q '^fail' "$results" && finish
fi
BUILD=$(cd "$BUILD" && pwd) && export BUILD
case_of server 'PostgreSQL starts and init makes the schema' start_server "$BUILD"
LEASERUN_TEST_PG=$(pg_url main postgres) && export LEASERUN_TEST_PG

# shellcheck source=tests/lib/long.sh
[ $long = no ] || . tests/lib/long.sh
if [ $# -gt 0 ]; then
    if [ $long = yes ]; then long "$@"; else bats_tests cli 3 "$@"; fi
    finish
fi
timed lint lint "$BUILD"
timed unit cmocka_tests "$BUILD" unit
if [ $long = yes ]; then start_models --long; else start_models; fi
timed cli bats_tests cli 6 tests/cli/*.bats
timed 'the models, after that' finish_models
timed faults tap faults sh tests/faults/suite.sh
# shellcheck disable=SC2086
[ $long = no ] || long $long_parts
finish
