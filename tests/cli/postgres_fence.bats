#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# The manual's example of require_fence_v1, taken from the manual and run.
# stores: postgresql

load ../lib/helpers

setup() {
    fresh_key
    cd "$BATS_TEST_TMPDIR"
    for name in report.sql report.sh; do
        example "$name" >"$name"
        [ -s "$name" ]
    done
    pg_sql main "$DATABASE" 'drop table if exists report' \
        "create table report as select 1 as id, 'empty'::text as body"
    export PGHOST=$PG_ROOT/main PGUSER=postgres PGDATABASE=$DATABASE PGPORT
    PGPORT=$(cat "$PG_ROOT/main/port")
}

example() { # NAME: as the manual shows it
    sed -n '/^\.\\" example: '"$1"'$/,/^\.Ed$/p' "$TESTS/../man/leaserun.7" |
        sed -e '/^\./d' -e 's/\\e$/\\/'
}

body() {
    pg_sql main "$DATABASE" 'select body from report'
}

@test "the example of the manual: a mandate writes more than once" {
    run -0 --separate-stderr leaserun run "$KEY" -- \
        sh -c 'body=one && . ./report.sh >/dev/null && body=two && . ./report.sh >/dev/null'
    expect_equal "$stderr" ''
    expect_equal "$(body)" two
}

@test "the example of the manual: a transaction is refused after its mandate has passed" {
    run -0 leaserun run "$KEY" -- sh -c 'echo "$LEASERUN_FENCE"'
    earlier=$output
    run -0 leaserun run "$KEY" -- sh -c 'body=later && . ./report.sh >/dev/null'
    run env LEASERUN_KEY="$KEY" LEASERUN_FENCE="$earlier" body=late sh ./report.sh
    [ "$status" -ne 0 ]
    expect_contains "$output" "the mandate of \"$KEY\" with the fence $earlier is over"
    expect_equal "$(body)" later
}

@test "the example of the manual: a mandate that nobody has used yet refuses the earlier one too" {
    run -0 leaserun run "$KEY" -- sh -c 'echo "$LEASERUN_FENCE"'
    earlier=$output
    start_holder
    run env LEASERUN_KEY="$KEY" LEASERUN_FENCE="$earlier" body=late sh ./report.sh
    [ "$status" -ne 0 ]
    expect_equal "$(body)" empty
}

@test "the example of the manual: a fence that was never given is refused" {
    run -0 leaserun run "$KEY" -- true
    for fence in $((1 << 62)) 0; do
        run env LEASERUN_KEY="$KEY" LEASERUN_FENCE="$fence" body=wrong sh ./report.sh
        [ "$status" -ne 0 ]
        expect_contains "$output" "the fence $fence was never given"
    done
    expect_equal "$(body)" empty
}
