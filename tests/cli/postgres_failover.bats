#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# A standby takes the primary's place: one that has everything, and one that has not.
# stores: postgresql

load ../lib/helpers

setup() {
    fresh_key
    PRIMARY=primary_$RANDOM STANDBY=standby_$RANDOM
}

teardown() {
    stop_started
    pg_stop "$PRIMARY" immediate
    pg_stop "$STANDBY" immediate
}

# Both servers, and LEASERUN_STORE that names them.
pair() { # [SETTING...]: of the primary
    pg_start "$PRIMARY" "$@"
    pg_sql "$PRIMARY" postgres 'create database app'
    LEASERUN_STORE=$(pg_url "$PRIMARY" app) leaserun init >/dev/null
    pg_standby "$STANDBY" "$PRIMARY"
    LEASERUN_STORE="postgresql:///app?user=postgres&target_session_attrs=read-write"
    LEASERUN_STORE+="&host=$PG_ROOT/$PRIMARY,$PG_ROOT/$STANDBY"
    LEASERUN_STORE+="&port=$(cat "$PG_ROOT/$PRIMARY/port"),$(cat "$PG_ROOT/$STANDBY/port")"
}

synchronous() {
    pg_sql "$PRIMARY" postgres "alter system set synchronous_standby_names = '*'" 'select pg_reload_conf()'
    await 10 eval '[ "$(pg_sql "$PRIMARY" postgres "select sync_state from pg_stat_replication")" = sync ]'
}

fail_over() {
    pg_stop "$PRIMARY" immediate
    pg_start "$STANDBY" 2>/dev/null || true # it may be up
    pg_promote "$STANDBY"
}

on_standby() {
    pg_sql "$STANDBY" app "$@"
}

# A run of some seconds, under way; sets PID and FENCE.
start_run() { # SECONDS
    start "$LEASERUN" run --ttl 10s "$KEY" -- sh -c "echo \$LEASERUN_FENCE running; exec sleep $1"
    await 10 has_said "$PID" running
    FENCE=$(started_stdout "$PID" | cut -d ' ' -f 1)
}

@test "P2 a synchronous standby is promoted during a run, whatever the default commit: the run survives, the fence grows, the timeline is told" {
    pair
    for commit in remote_write local off; do
        pg_sql "$PRIMARY" postgres "alter role postgres set synchronous_commit = $commit"
        run -0 leaserun run "$commit" -- true
    done
    synchronous
    start_run 6
    expect_equal "$(on_standby "select fence from leaserun.leases where key = '$KEY'")" "$FENCE"
    fail_over
    finish "$PID" 20
    echo "# $(started_stderr "$PID")"
    expect_equal "$STATUS" 0
    expect_contains "$(started_stderr "$PID")" 'event=store_note'
    expect_contains "$(started_stderr "$PID")" 'from timeline 00000001 to 00000002'
    expect_equal "$(on_standby "select released from leaserun.leases where key = '$KEY'")" t
    run -0 --separate-stderr leaserun run "$KEY" -- sh -c 'echo "$LEASERUN_FENCE"'
    [ "$output" -gt "$FENCE" ]
}

@test "an asynchronous standby that has not got the claim is promoted: the run is lost, 76, and the timeline is told" {
    pair
    pg_stop "$STANDBY"
    start_run 60
    fail_over
    finish "$PID" 20
    echo "# $(started_stderr "$PID")"
    expect_equal "$STATUS" 76
    expect_contains "$(started_stderr "$PID")" 'from timeline 00000001 to 00000002'
    expect_equal "$(on_standby "select count(*) from leaserun.leases where key = '$KEY'")" 0
}

@test "an asynchronous standby that has an older fence of the key is promoted: the run is lost, 76" {
    pair
    run -0 leaserun run "$KEY" -- true
    older=$(lease_field "$KEY" fence)
    await 10 eval '[ "$(on_standby "select count(*) from leaserun.leases where released")" = 1 ]'
    pg_stop "$STANDBY"
    start_run 60
    [ "$FENCE" -gt "$older" ]
    fail_over
    finish "$PID" 20
    echo "# $(started_stderr "$PID")"
    expect_equal "$STATUS" 76
    expect_contains "$(started_stderr "$PID")" 'from timeline 00000001 to 00000002'
    expect_equal "$(on_standby "select fence from leaserun.leases where key = '$KEY'")" "$older"
}

@test "a standby alone takes no claims: one line, one connection, 69; and after its promotion it does" {
    pair
    LEASERUN_STORE=$(pg_url "$STANDBY" app)
    pg_sql "$PRIMARY" postgres 'alter system set log_connections = on' 'select pg_reload_conf()'
    printf 'log_connections = on\n' >>"$PG_ROOT/$STANDBY/data/postgresql.conf"
    on_standby 'select pg_reload_conf()'
    run --separate-stderr leaserun run --start-within 4s "$KEY" -- true
    expect_status 69
    expect_one_line
    echo "# $stderr"
    expect_contains "$stderr" 'the server takes no writes (a standby'
    expect_equal "$(grep -c 'connection authorized: .*application_name=leaserun' "$(pg_log "$STANDBY")")" 1
    run leaserun check --connect
    [ "$status" -ne 0 ]
    expect_contains "$output" 'the server is a standby: it takes no claims'
    start "$LEASERUN" run --start-within 20s "$KEY" -- true
    sleep 1
    fail_over
    finish "$PID" 15
    expect_equal "$STATUS" 0
}
