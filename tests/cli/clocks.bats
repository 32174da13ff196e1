#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# P9: the server's clock alone judges expiry, and it may be set while commands run.
# stores: postgresql

load ../lib/helpers
load ../lib/faults
load ../lib/clocks

setup_file() {
    clocked_server clock
    pg_sql clock postgres 'create database app'
    export DATABASE=app LEASERUN_STORE
    LEASERUN_STORE=$(pg_url clock app)
    leaserun init
}

teardown_file() {
    pg_stop clock immediate
}

setup() {
    fresh_key
    STAMPS=$BATS_TEST_TMPDIR/stamps
}

teardown() {
    stop_started
    server_clock clock 0
}

start_lasting() { # MS OPTION...
    local length=$1
    shift
    start "$LEASERUN" run "$@" "$KEY" -- "$TOOLS/stamp" "$STAMPS" "$length"
    await 10 test -s "$STAMPS"
}

@test "the server's clock is stepped, its sessions see it at once" {
    for seconds in -7200 7200 0; do
        server_clock clock $seconds
        expect_equal "$(server_offset clock)" $seconds
    done
}

@test "P9 the server's clock goes back two hours under a run: it is renewed, released, and the key is free at once" {
    start_lasting 6500 --ttl 5s
    server_clock clock -7200
    for _ in 1 2 3; do
        expect_try 75
        remaining=$(lease_field "$KEY" remaining_ms)
        [ "$remaining" -gt 0 ]
        [ "$remaining" -le 5000 ]
        sleep 1
    done
    ended_well "$PID" 10
    expect_equal "$(lease_field "$KEY" state)" released
    expect_try 0
    expect_equal "$(leaserun history --json "$KEY" | json_field outcome | sort -u)" succeeded
    leaserun history --json "$KEY" | python3 -c 'import json, sys
for line in sys.stdin: run = json.loads(line); assert run["started_at"] <= run["finished_at"], run'
}

@test "P9 the server's clock goes back two hours and the holder's host dies: the key is free after a ttl" {
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
    start_lasting 2500 --ttl 5s
    first=$PID
    start "$LEASERUN" run --wait 20s --ttl 5s "$KEY" -- true
    server_clock clock -7200
    ended_well "$first" 5
    finish "$PID" 3
    expect_equal "$STATUS" 0
}

@test "P9 the server's clock goes on by two hours and nobody wants the key: the run is told and ended, 76" {
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
    run leaserun run --hold-at-least 1h "$KEY" -- true
    expect_status 0
    expect_try 75
    server_clock clock -7200
    expect_try 0
}

@test "P9 the server's clock goes on between looking and claiming: the claim is asked again" {
    proxy_start clock
    proxy hold-request won.AS
    LEASERUN_STORE=$PROXY_URL start "$LEASERUN" run "$KEY" -- true
    proxy await won.AS 1 10
    server_clock clock 7200
    proxy go
    ended_well "$PID" 10
}

@test "P9 all of this leaves no ERROR line in the server's log" {
    expect_equal "$(server_errors clock app)" ''
}
