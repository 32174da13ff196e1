# SPDX-License-Identifier: ISC
# shellcheck shell=sh
# The long parts of tests/run.sh, which sources this: other builds, analyzers, fuzzers, endurance.
# The function long_NAME is one, for each name of $long_parts. Every program in them has a bound of
# time, its own or that of `bounded`; that one is several times what it takes.
# SOAK_S, FUZZ_S: how long each of those lasts. MONTHS: of the simulated scheduler.
: "${SOAK_S:=600}" "${FUZZ_S:=60}" "${MONTHS:=8}"
long_parts='sanitizers valgrind months analyzers fuzzers endurance replicas soak mutants'

# The whole group of processes is told to end, and 30 s later it is ended.
bounded() { # SECONDS COMMAND...
    timeout --kill-after=30 "$@"
}

long() { # PART...
    for name; do
        case " $long_parts " in
        *" $name "*) timed "$name" "long_$name" ;;
        *) case_of long "$name is one of: $long_parts" false ;;
        esac
    done
}

# Sanitizers: the same suites against another build. Leaks are looked for as well: leaserun asks for
# that itself before it leaves. A core limit is the command's business, not the sanitizer's; and a
# library that shows it another clock comes first.
long_sanitizers() {
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

# What cannot be done under valgrind is skipped where it stands (SKIP_UNDER_VALGRIND), for which
# meson counts the program as failed; so whether one did is asked of its cases.
under_valgrind() { # [MESON TEST OPTION...]
    rm -f "$valgrind_log"
    LEASERUN_TEST_SEEDS=1 CMOCKA_MESSAGE_OUTPUT=TAP meson test -C "$BUILD" --no-rebuild --no-suite store \
        --timeout-multiplier 10 "$@" --wrapper \
        'valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite' \
        >"$work/meson.log" 2>&1
}

long_valgrind() {
    valgrind_log=$BUILD/meson-logs/testlog-valgrind.json
    under_valgrind
    python3 "$top/tests/lib/tally.py" --results "$work/valgrind" --part valgrind \
        --meson "$valgrind_log" >"$work/valgrind.log"
    if grep -q '^fail' "$work/valgrind"; then
        say 'Again, one by one: valgrind'
        under_valgrind --num-processes 1
    fi
    tally --part valgrind --meson "$valgrind_log"
}

# Left out: what these versions report of correct code (libpq's option list; va_list in callees).
analyzer() {
    rm -rf "$work/analyzer" &&
        CFLAGS='-fanalyzer -Wno-analyzer-fd-leak -Wno-analyzer-null-dereference' meson setup "$work/analyzer" -Dtests=disabled \
            -Dwerror=true && bounded 1800 ninja -C "$work/analyzer"
}

# Also matters of taste: conditions that each lead to the same for a reason of their own; arrays of pointers.
tidy() {
    find src -name '*.c' | sort | bounded 2400 xargs -P 2 -n 8 clang-tidy-14 --quiet -p "$BUILD" \
        --checks='-*,clang-analyzer-*,bugprone-*,-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions,-bugprone-reserved-identifier,-bugprone-assignment-in-if-condition,-bugprone-branch-clone,-bugprone-sizeof-expression,-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling,-clang-analyzer-security.insecureAPI.strcpy,-clang-analyzer-valist.Uninitialized,-bugprone-implicit-widening-of-multiplication-result,-clang-analyzer-optin.performance.Padding' \
        --warnings-as-errors='*' >"$work/tidy.log" 2>&1
    tidy_status=$?
    grep -v 'warnings generated' "$work/tidy.log"
    return $tidy_status
}

check_cpp() {
    bounded 1200 cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr \
        --std=c11 -D_GNU_SOURCE -I src --suppress=missingIncludeSystem --suppress=ctuuninitvar src
}

long_analyzers() {
    case_of analyzer 'gcc -fanalyzer' analyzer
    case_of analyzer 'clang-tidy' tidy
    case_of analyzer 'cppcheck' check_cpp
}

# Every executable "fuzz-*" of the fuzz build.
long_fuzzers() {
    case_of build 'with fuzzers' env CC=clang-14 meson setup "$work/fuzz" -Dtests=enabled \
        -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
    case_of build 'the fuzzers' ninja -C "$work/fuzz" fuzzers
    for fuzzer in "$work"/fuzz/tests/fuzz/fuzz-*; do
        [ -f "$fuzzer" ] && [ -x "$fuzzer" ] || continue
        seeds=$top/tests/fuzz/seeds/${fuzzer##*/fuzz-}
        mkdir -p "$work/corpus/${fuzzer##*/}"
        [ ! -d "$seeds" ] || cp "$seeds"/* "$work/corpus/${fuzzer##*/}/"
        case_of fuzz "${fuzzer##*/} for $FUZZ_S s" bounded $((FUZZ_S + 120)) \
            env UBSAN_OPTIONS=halt_on_error=1 "$fuzzer" -max_total_time="$FUZZ_S" -timeout=10 \
            -artifact_prefix="$work/" "$work/corpus/${fuzzer##*/}"
    done
}

long_endurance() {
    for store in "sqlite:$work/thousand.db" "$(pg_url main leaserun_template)"; do
        case_of endurance "1,000 runs on ${store%%:*}" \
            bounded 900 sh tests/lib/endurance.sh thousand "$store"
        case_of endurance "renewals on ${store%%:*} keep descriptors and memory" \
            bounded 120 sh tests/lib/endurance.sh steady "$store"
    done
}

# Simulated months of three replicas, each from a seed of its own.
long_months() {
    case_of schedule "$MONTHS months of three replicas" bounded $((MONTHS * 300)) \
        env CMOCKA_MESSAGE_OUTPUT=TAP LEASERUN_TEST_SEED=101 LEASERUN_TEST_SEEDS="$MONTHS" \
        "$BUILD/tests/schedule/test-schedule-month"
}

long_replicas() {
    tap replicas bounded 1200 sh tests/replicas/real_jobs.sh
}

long_soak() {
    tap soak bounded $((SOAK_S + 600)) sh tests/faults/suite.sh --soak
}

# Each mutant's tests have a bound of their own.
long_mutants() {
    tap mutants bounded 5400 sh tests/mutants/run.sh
}
