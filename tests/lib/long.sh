# SPDX-License-Identifier: ISC
# shellcheck shell=sh
# The long part of tests/run.sh, which sources this: other builds, analyzers, fuzzers, endurance.
# SOAK_S, FUZZ_S: how long each of those lasts. MONTHS: of the simulated scheduler.

# Sanitizers: the same suites against another build. Leaks are looked for as well: leaserun asks for
# that itself before it leaves. A core limit is the command's business, not the sanitizer's; and a
# library that shows it another clock comes first.
sanitizers() {
    sanitized=$top/build-asan
    case_of build 'with address and undefined behaviour sanitizers' build "$sanitized" \
        -Db_sanitize=address,undefined -Db_lundef=false
    grep -q '^fail.*sanitizers' "$results" && return
    export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    cmocka_tests "$sanitized" 'sanitizers unit'
    plain=$BUILD
    BUILD=$sanitized
    ASAN_OPTIONS=disable_coredump=0:verify_asan_link_order=0 && export ASAN_OPTIONS
    bats_tests 'sanitizers' 3 tests/cli/*.bats
    BUILD=$plain
    unset ASAN_OPTIONS UBSAN_OPTIONS
}

# What cannot be done under valgrind is skipped where it stands (SKIP_UNDER_VALGRIND).
under_valgrind() { # [MESON TEST OPTION...]
    rm -f "$BUILD/meson-logs/testlog-valgrind.json"
    CMOCKA_MESSAGE_OUTPUT=TAP meson test -C "$BUILD" --no-rebuild --no-suite store \
        --timeout-multiplier 10 "$@" --wrapper \
        'valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite' \
        >"$work/meson.log" 2>&1
}

with_valgrind() {
    under_valgrind || { say 'Again, one by one: valgrind' && under_valgrind --num-processes 1; }
    tally --part valgrind --meson "$BUILD/meson-logs/testlog-valgrind.json"
}

# Left out: what these versions report of correct code (libpq's option list; va_list in callees).
analyzer() {
    rm -rf "$work/analyzer" &&
        CFLAGS='-fanalyzer -Wno-analyzer-fd-leak -Wno-analyzer-null-dereference' meson setup "$work/analyzer" -Dtests=disabled \
            -Dwerror=true && ninja -C "$work/analyzer"
}

# Also matters of taste: conditions that each lead to the same for a reason of their own; arrays of pointers.
tidy() {
    find src -name '*.c' | sort | xargs -P 2 -n 8 clang-tidy-14 --quiet -p "$BUILD" \
        --checks='-*,clang-analyzer-*,bugprone-*,-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions,-bugprone-reserved-identifier,-bugprone-assignment-in-if-condition,-bugprone-branch-clone,-bugprone-sizeof-expression,-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling,-clang-analyzer-security.insecureAPI.strcpy,-clang-analyzer-valist.Uninitialized,-bugprone-implicit-widening-of-multiplication-result,-clang-analyzer-optin.performance.Padding' \
        --warnings-as-errors='*' >"$work/tidy.log" 2>&1
    tidy_status=$?
    grep -v 'warnings generated' "$work/tidy.log"
    return $tidy_status
}

check_cpp() {
    cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr \
        --std=c11 -D_GNU_SOURCE -I src --suppress=missingIncludeSystem --suppress=ctuuninitvar src
}

# Every executable "fuzz-*" of the fuzz build: a bounded time each.
fuzzers() {
    [ -e tests/fuzz/meson.build ] || return 0
    case_of build 'with fuzzers' env CC=clang-14 meson setup "$work/fuzz" -Dtests=enabled \
        -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
    case_of build 'the fuzzers' ninja -C "$work/fuzz" fuzzers
    for fuzzer in "$work"/fuzz/tests/fuzz/fuzz-*; do
        [ -f "$fuzzer" ] && [ -x "$fuzzer" ] || continue
        seeds=$top/tests/fuzz/seeds/${fuzzer##*/fuzz-}
        mkdir -p "$work/corpus/${fuzzer##*/}"
        [ ! -d "$seeds" ] || cp "$seeds"/* "$work/corpus/${fuzzer##*/}/"
        case_of fuzz "${fuzzer##*/} for ${FUZZ_S:-60} s" env UBSAN_OPTIONS=halt_on_error=1 \
            "$fuzzer" -max_total_time="${FUZZ_S:-60}" -timeout=10 -artifact_prefix="$work/" \
            "$work/corpus/${fuzzer##*/}"
    done
}

# A thousand runs of one key: each leaves neither a process nor a descriptor, a file or a lease.
thousand_runs() { # STORE
    before=$(count_processes)
    for _ in $(seq 1000); do
        "$BUILD/src/leaserun" run --store "$1" thousand -- true || return 1
    done
    # A guard outlives its leaserun by a moment; whoever is process 1 then reaps it.
    polls=0
    while zombies=$(ps -eo stat,comm | grep -c '^Z.*leaserun') && [ $polls -lt 100 ]; do
        sleep 0.1
        polls=$((polls + 1))
    done
    after=$(count_processes)
    echo "processes before $before, after $after, zombies $zombies"
    [ "$after" -le "$before" ] && [ "$zombies" -eq 0 ] &&
        "$BUILD/src/leaserun" status --store "$1" --json | grep -q '"state": *"released"'
}

count_processes() {
    pgrep -c -f "^$BUILD/src/leaserun" || true
}

# A command that runs 1,000 short commands of its own: leaserun's descriptors and memory stand.
steady() { # STORE
    "$BUILD/src/leaserun" run --store "$1" --ttl 5s steady -- \
        sh -c 'for i in $(seq 1000); do (sleep 0.01 &) ; done; sleep 20' &
    pid=$!
    sleep 4
    first=$(find "/proc/$pid/fd" -mindepth 1 | wc -l)
    sleep 12
    last=$(find "/proc/$pid/fd" -mindepth 1 | wc -l)
    wait $pid
    status=$?
    echo "descriptors: $first, then $last; status $status"
    [ "$first" -eq "$last" ] && [ $status -eq 0 ]
}

# Simulated months of three replicas, each from a seed of its own.
months() {
    CMOCKA_MESSAGE_OUTPUT=TAP LEASERUN_TEST_SEED=101 LEASERUN_TEST_SEEDS="${MONTHS:-8}" \
        "$BUILD/tests/schedule/test-schedule-month"
}

sanitizers
with_valgrind
case_of schedule "${MONTHS:-8} months of three replicas" months
case_of analyzer 'gcc -fanalyzer' analyzer
case_of analyzer 'clang-tidy' tidy
case_of analyzer 'cppcheck' check_cpp
fuzzers
for store in "sqlite:$work/thousand.db" "$(pg_url main leaserun_template)"; do
    case_of endurance "1,000 runs on ${store%%:*}" thousand_runs "$store"
    case_of endurance "renewals on ${store%%:*} keep descriptors" steady "$store"
done
tap replicas sh tests/replicas/real_jobs.sh
tap soak sh tests/faults/suite.sh --soak
tap mutants sh tests/mutants/run.sh
