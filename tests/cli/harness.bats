#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# What the other tests lean on: the proxy, the stamps and the checker of overlaps.
# stores: postgresql

load ../lib/helpers

setup() {
    fresh_key
    proxy_start
    LOG=$BATS_TEST_TMPDIR/stamps
}

ask() { # SQL, through the proxy
    psql -X -q -A -t -d "$PROXY_URL" -c "$1"
}

table() {
    pg_sql main "$DATABASE" 'create table t (n int)'
}

rows() {
    pg_sql main "$DATABASE" 'select count(*) from t'
}

teardown() {
    stop_started
    pg_sql main "$DATABASE" 'drop table if exists t'
}

@test "the proxy passes requests and replies" {
    expect_equal "$(ask 'select 6 * 7')" 42
    expect_equal "$(proxy count 'select 6')" 1
}

@test "the proxy speaks TCP with a password and declines encryption" {
    url="postgresql://postgres:$PG_PASSWORD@127.0.0.1:$(cat "$PROXY/port")/$DATABASE"
    expect_equal "$(psql -XAtd "$url" -c 'select 1')" 1
}

@test "a lost reply is lost after the commit" {
    table
    proxy lose-reply insert
    run ask 'insert into t values (1)'
    [ "$status" -ne 0 ]
    expect_equal "$(rows)" 1
    expect_equal "$(ask 'select count(*) from t')" 1
}

@test "a lost request is never executed" {
    table
    proxy lose-request insert
    run ask 'insert into t values (1)'
    [ "$status" -ne 0 ]
    expect_equal "$(rows)" 0
}

@test "a dropped reply leaves the client waiting although the server has done it" {
    table
    proxy drop-reply insert
    start ask 'insert into t values (1)'
    proxy await-fired 1 5
    expect_equal "$(rows)" 1
    kill -0 "$PID"
    proxy cut
    finish "$PID" 5
    [ "$STATUS" -ne 0 ]
}

@test "a held request arrives when it is let go, even after its client has left" {
    table
    proxy hold-request insert
    start ask 'insert into t values (1)'
    proxy await-fired 1 5
    expect_equal "$(rows)" 0
    kill -KILL "$PID"
    proxy go
    await 5 eval '[ "$(rows)" = 1 ]'
}

@test "a held reply arrives when it is let go" {
    table
    proxy hold-reply insert
    start ask 'insert into t values (1) returning n'
    proxy await-fired 1 5
    expect_equal "$(rows)" 1
    proxy go
    finish "$PID" 5
    expect_equal "$STATUS $(started_stdout "$PID")" "0 1"
}

@test "a delayed reply takes its time" {
    before=$(now_ms)
    proxy delay-reply 300 select
    expect_equal "$(ask 'select 1')" 1
    [ $(($(now_ms) - before)) -ge 300 ]
}

@test "a remembered request can be replayed" {
    table
    proxy remember insert
    ask 'insert into t values (1)'
    expect_equal "$(proxy replay)" "INSERT 0 1"
    expect_equal "$(rows)" 2
}

@test "a black hole swallows what was connected and what connects" {
    proxy blackhole on
    start ask 'select 1'
    proxy await-connections 1 5
    proxy blackhole off
    kill -0 "$PID"
    proxy cut
    finish "$PID" 5
    [ "$STATUS" -ne 0 ]
    expect_equal "$(ask 'select 1')" 1
}

@test "a refusing proxy closes at once" {
    proxy refuse on
    run ask 'select 1'
    [ "$status" -ne 0 ]
    proxy clear
    expect_equal "$(ask 'select 1')" 1
}

@test "an unknown command or a wait in vain is an error" {
    run proxy no-such
    [ "$status" -eq 1 ]
    run proxy await nothing 1 0.1
    [ "$status" -eq 1 ]
}

@test "lives one after the other do not overlap" {
    LEASERUN_KEY=k LEASERUN_FENCE=1 "$TOOLS/stamp" "$LOG" 30
    LEASERUN_KEY=k LEASERUN_FENCE=2 "$TOOLS/stamp" "$LOG" 30
    expect_equal "$(no_overlaps "$LOG")" "2 lives, no overlap"
}

@test "lives together are seen, unless their keys differ" {
    LEASERUN_KEY=k LEASERUN_FENCE=1 start "$TOOLS/stamp" "$LOG" 0
    await 5 test -s "$LOG"
    LEASERUN_KEY=other LEASERUN_FENCE=2 "$TOOLS/stamp" "$LOG" 20
    no_overlaps "$LOG"
    LEASERUN_KEY=k LEASERUN_FENCE=3 "$TOOLS/stamp" "$LOG" 20
    run no_overlaps "$LOG"
    expect_status 1
    expect_contains "$output" "k: fence 1"
}

@test "a fence that does not grow is seen" {
    LEASERUN_KEY=k LEASERUN_FENCE=10 "$TOOLS/stamp" "$LOG" 20
    LEASERUN_KEY=k LEASERUN_FENCE=9 "$TOOLS/stamp" "$LOG" 20
    run no_overlaps "$LOG"
    expect_status 1
    expect_contains "$output" "fence 9 came after fence 10"
}
