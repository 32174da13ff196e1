#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# P9: clocks are wrong, or are set while commands run. The server's clock alone judges expiry, and
# hosts count durations on a clock that nobody sets.
# stores: postgresql sqlite

load ../lib/helpers
load ../lib/faults
load ../lib/clocks

setup_file() {
    clocks_begin
    if [ "$STORE_KIND" = sqlite ]; then
        fresh_store
        return
    fi
    clocked_server clock
    pg_sql clock postgres 'create database app'
    export DATABASE=app LEASERUN_STORE
    LEASERUN_STORE=$(pg_url clock app)
    leaserun init
}

teardown_file() {
    [ "$STORE_KIND" = sqlite ] || pg_stop clock immediate
    clocks_end
}

setup() {
    fresh_key
    STAMPS=$BATS_TEST_TMPDIR/stamps
}

teardown() {
    stop_started
    [ "$STORE_KIND" = sqlite ] || server_clock clock 0
}

needs_server_clock() {
    [ "$STORE_KIND" = postgresql ] || skip 'the clock of a file is its host'"'"'s, and counts from the boot'
}

start_lasting() { # MS OPTION...
    local length=$1
    shift
    start "$LEASERUN" run "$@" "$KEY" -- "$TOOLS/stamp" "$STAMPS" "$length"
    await 10 test -s "$STAMPS"
}

# One try for the key by another host ends with this status.
expect_try() { # STATUS
    run --separate-stderr leaserun run "$KEY" -- true
    expect_status "$1"
}

# It did what it was to do and said nothing.
ended_well() { # PID SECONDS
    finish "$1" "$2"
    expect_equal "$STATUS $(started_stderr "$1")" "0 "
}

# ---- the server's clock ----------------------------------------------------------------------

@test "the server's clock is stepped, its sessions see it at once" {
    needs_server_clock
    for seconds in -7200 7200 0; do
        server_clock clock $seconds
        expect_equal "$(server_offset clock)" $seconds
    done
}

@test "P9 the server's clock goes back two hours under a run: it is renewed, released, and the key is free at once" {
    needs_server_clock
    start_lasting 6500 --ttl 5s
    server_clock clock -7200
    for _ in 1 2 3; do
        expect_try 75
        remaining=$(lease_field "$KEY" remaining_ms)
        [ "$remaining" -gt 0 ] && [ "$remaining" -le 5000 ]
        sleep 1
    done
    ended_well "$PID" 10
    expect_equal "$(lease_field "$KEY" state)" released
    expect_try 0
    expect_equal "$(leaserun history --json "$KEY" | json_field outcome | sort -u)" succeeded
}

@test "P9 the server's clock goes back two hours and the holder's host dies: the key is free after a ttl" {
    needs_server_clock
    start_lasting 0 --ttl 5s
    guard=$(guard_of "$PID")
    strike STOP "$PID" "$guard"
    strike KILL "$guard" "$PID"
    await 5 all_gone "$STAMPS"
    server_clock clock -7200
    expect_try 75
    run --separate-stderr leaserun run --wait 8s "$KEY" -- true
    expect_status 0
    expect_contains "$stderr" event=run_abandoned
}

@test "P9 the server's clock goes back two hours in the ttl of a waiter: it runs once the key is free" {
    needs_server_clock
    start_lasting 2500 --ttl 5s
    first=$PID
    start "$LEASERUN" run --wait 20s --ttl 5s "$KEY" -- true
    server_clock clock -7200
    ended_well "$first" 5
    finish "$PID" 3
    expect_equal "$STATUS" 0
}

@test "P9 the server's clock goes on by two hours and nobody wants the key: the run is told and ended, 76" {
    needs_server_clock
    start_lasting 0 --ttl 5s
    struck=$(boot_us)
    server_clock clock 7200
    finish "$PID" 5
    expect_equal "$STATUS $(count_events "$PID" lease_lost)" "76 1"
    all_gone "$STAMPS"
    # Renewals come every 792 ms, and TERM is obeyed.
    expect_within "$(last_stamp "$STAMPS" "$struck")" 0 1300
    expect_equal "$(lease_field "$KEY" state) $(run_field "$KEY" outcome)" "released lost"
    expect_try 0
}

# The one case that exclusion cannot hold in: until its next renewal the first knows of nothing.
@test "P9 the server's clock goes on by two hours and another takes the key: the first is dead a renewal later, 76" {
    needs_server_clock
    start_lasting 0 --ttl 5s --grace 3s
    first=$PID
    struck=$(boot_us)
    server_clock clock 7200
    start "$LEASERUN" run --ttl 5s "$KEY" -- "$TOOLS/stamp" "$BATS_TEST_TMPDIR/second" 2500
    finish "$first" 5
    expect_equal "$STATUS $(count_events "$first" lease_lost)" "76 1"
    all_gone "$STAMPS"
    expect_within "$(last_stamp "$STAMPS" "$struck")" 0 1300
    finish "$PID" 10
    expect_equal "$STATUS" 0
    fences=$(cat "$STAMPS" "$BATS_TEST_TMPDIR/second" | awk '{ print $4 }' | uniq)
    expect_equal "$fences" "$(sort -n <<<"$fences")"
}

@test "P9 a hold of an hour, and the server's clock goes back two: the key is not busy" {
    needs_server_clock
    run leaserun run --hold-at-least 1h "$KEY" -- true
    expect_status 0
    expect_try 75
    server_clock clock -7200
    expect_try 0
}

@test "P9 the server's clock goes on between looking and claiming: the claim is asked again" {
    needs_server_clock
    proxy_start clock
    proxy hold-request won.AS
    LEASERUN_STORE=$PROXY_URL start "$LEASERUN" run "$KEY" -- true
    proxy await won.AS 1 10
    server_clock clock 7200
    proxy release
    ended_well "$PID" 10
}

# ---- hosts' clocks ---------------------------------------------------------------------------

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
        [ "$remaining" -gt 0 ] && [ "$remaining" -le 5000 ]
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
    expect_within "$freed" 4100 6300
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

@test "P9 all of this leaves no ERROR line in the server's log" {
    needs_server_clock
    expect_equal "$(server_errors clock app)" ''
}
