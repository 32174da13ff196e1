#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# P9: hosts' wall clocks are wrong, or are set while commands run. What lasts is counted on a clock
# that nobody sets, and nothing changes.
# stores: postgresql sqlite

load ../lib/helpers
load ../lib/faults
load ../lib/clocks

setup_file() {
    clocks_begin
    fresh_store
}

teardown_file() {
    clocks_end
}

setup() {
    fresh_key
    STAMPS=$BATS_TEST_TMPDIR/stamps
}

@test "P9 the holder's clock is two hours ahead, the others' a year behind and right: it is held, by its ttl" {
    ahead=$(clock_file 7200) behind=$(clock_file -31536000)
    start under_clock "$ahead" "$LEASERUN" run --ttl 5s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 6500
    first=$PID
    await 10 test -s "$STAMPS"
    for _ in 1 2 3; do
        expect_try 75
        run under_clock "$behind" "$LEASERUN" run "$KEY" -- true
        expect_status 75
        remaining=$(under_clock "$behind" "$LEASERUN" status --json "$KEY" | json_field remaining_ms)
        [ "$remaining" -gt 0 ]
        [ "$remaining" -le 5000 ]
        sleep 1
    done
    start under_clock "$behind" "$LEASERUN" run --wait 20s "$KEY" -- true
    ended_well "$first" 10
    finish "$PID" 3
    expect_equal "$STATUS" 0
}

@test "P9 the holder's clock is a year behind and its host dies: the key is free after a ttl, for hosts ahead too" {
    behind=$(clock_file -31536000) ahead=$(clock_file 7200)
    start under_clock "$behind" "$LEASERUN" run --ttl 5s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 0
    await 10 test -s "$STAMPS"
    guard=$(guard_of "$PID")
    # Stopped, they are not gone, and cannot give it back.
    struck=$(strike STOP "$PID" "$guard" $(stamp_pids "$STAMPS"))
    run under_clock "$ahead" "$LEASERUN" run "$KEY" -- true
    expect_status 75
    run under_clock "$ahead" "$LEASERUN" run --wait 10s "$KEY" -- true
    expect_status 0
    freed=$((($(boot_us) - struck) / 1000))
    measured 'from the last renewal, at most 792 ms before, to the next run' "$freed"
    expect_within "$freed" 4100 7500
    strike KILL "$guard" "$PID" $(stamp_pids "$STAMPS")
}

@test "P9 the holder's clock is set during the run, forward and back: it is renewed as ever" {
    clock=$(clock_file 0)
    start under_clock "$clock" "$LEASERUN" run --ttl 5s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 7000
    await 10 test -s "$STAMPS"
    for seconds in 7200 -31536000 86400 0; do
        step_clock "$clock" $seconds
        sleep 1.2
        expect_try 75
    done
    ended_well "$PID" 10
}

@test "P9 the clock is set during --wait and --timeout: they last as long as they say" {
    clock=$(clock_file 0)
    start_holder --ttl 5s
    before=$(now_ms)
    start under_clock "$clock" "$LEASERUN" run --wait 2s "$KEY" -- true
    waiter=$PID
    start under_clock "$clock" "$LEASERUN" run --timeout 2s "$KEY.2" -- "$TOOLS/stamp" "$STAMPS" 0
    await 10 test -s "$STAMPS"
    sleep 0.3
    step_clock "$clock" 7200
    sleep 0.3
    step_clock "$clock" -7200
    finish "$waiter" 5
    expect_equal "$STATUS" 75
    expect_within $(($(now_ms) - before)) 1900 3000
    finish "$PID" 5
    expect_equal "$STATUS" 124
    expect_within $(($(now_ms) - before)) 1900 3200
}

@test "P9 a hold is the same for hosts with other clocks" {
    ahead=$(clock_file 7200) behind=$(clock_file -31536000)
    run under_clock "$ahead" "$LEASERUN" run --hold-at-least 2s "$KEY" -- true
    expect_status 0
    run under_clock "$behind" "$LEASERUN" run "$KEY" -- true
    expect_status 75
    sleep 2.2
    run under_clock "$behind" "$LEASERUN" run --hold-at-least 2s "$KEY" -- true
    expect_status 0
    run under_clock "$ahead" "$LEASERUN" run "$KEY" -- true
    expect_status 75
}
