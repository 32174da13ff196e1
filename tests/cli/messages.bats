#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# P5: lost, late and repeated messages change nothing; P6: a lease that cannot be renewed ends the
# command before another may run. Claim, renew and release, each through a network that fails.
# stores: postgresql

load ../lib/helpers

# What tells the statements apart (no blanks: patterns are words to the proxy).
CLAIM=won.AS
RENEW=renewed.AS
RELEASE=written.AS

setup() {
    fresh_key
    proxy_start
    LEASERUN_STORE=$PROXY_URL
    STARTS=$BATS_TEST_TMPDIR/starts
    STAMPS=$BATS_TEST_TMPDIR/stamps
    # ttl 12 s: an attempt is given up after 1 s, renewals come every 2.25 s.
    OPTIONS=(--ttl 12s --grace 1s)
}

# A run that notes its start, through the proxy, with any more options given.
once() { # [OPTION...] -- COMMAND...
    run --separate-stderr "$LEASERUN" run "${OPTIONS[@]}" "$@"
}

noted() { # COMMAND: noted in STARTS first
    printf 'echo $LEASERUN_FENCE >>"%s"; %s' "$STARTS" "$1"
}

starts() {
    wc -l <"$STARTS"
}

direct() {
    LEASERUN_STORE=$STORE_URL leaserun "$@"
}

direct_field() { # FIELD of the lease
    direct status --json "$KEY" | json_field "$1"
}

finished_once() { # OUTCOME
    expect_equal "$(starts)" 1
    expect_equal "$(direct history --json "$KEY" | wc -l)" 1
    expect_equal "$(direct history --json "$KEY" | json_field outcome)" "$1"
    expect_equal "$(direct_field state)" released
}

start_running() { # OPTION... ; runs until stopped
    start "$LEASERUN" run "${OPTIONS[@]}" "$@" "$KEY" -- sh -c "$(noted 'echo running; exec sleep 600')"
    await 15 has_said "$PID" running
}

@test "P5 a claim whose reply is lost after the commit is recovered by asking again" {
    proxy lose-reply $CLAIM
    once "$KEY" -- sh -c "$(noted 'exit 3')"
    expect_status 3
    finished_once failed
    [ "$(proxy count $CLAIM)" -ge 2 ]
}

@test "P5 a claim that is lost on its way is sent again" {
    proxy lose-request $CLAIM
    once "$KEY" -- sh -c "$(noted true)"
    expect_status 0
    finished_once succeeded
}

@test "P5 a claim that is never answered is given up and sent again" {
    proxy drop-reply $CLAIM
    once "$KEY" -- sh -c "$(noted true)"
    expect_status 0
    finished_once succeeded
}

@test "P5 a claim that arrives after its sender has given up holds the key for nobody" {
    proxy hold-request $CLAIM always
    once --start-within 2s "$KEY" -- sh -c "$(noted true)"
    expect_status 69
    [ ! -e "$STARTS" ]
    proxy go
    proxy clear
    await 5 eval '[ "$(proxy connections)" = 0 ]'
    run direct run "$KEY" -- true
    expect_status 0
}

@test "P5 a claim that is repeated while its run goes on does not disturb it" {
    proxy remember $CLAIM
    start_running
    fence=$(direct_field fence)
    proxy replay
    expect_equal "$(direct_field fence) $(direct_field state)" "$fence held"
    proxy await $RENEW 1 10
    is_gone "$PID" && false
    kill -TERM "$PID"
    finish "$PID" 10
    finished_once stopped
}

@test "P5 a claim that is repeated after its release holds the key for nobody" {
    proxy remember $CLAIM
    once "$KEY" -- sh -c "$(noted true)"
    fence=$(direct_field fence)
    proxy replay
    expect_equal "$(direct_field fence) $(direct_field state)" "$fence released"
    finished_once succeeded
}

@test "P5 a renewal whose reply is lost is repeated and the run goes on" {
    proxy lose-reply $RENEW
    once "$KEY" -- sh -c "$(noted 'sleep 5')"
    expect_status 0
    finished_once succeeded
}

@test "P5 a renewal that is lost on its way or never answered is repeated and the run goes on" {
    proxy lose-request $RENEW
    proxy drop-reply $RENEW
    once "$KEY" -- sh -c "$(noted 'sleep 6')"
    expect_status 0
    finished_once succeeded
}

@test "P5 a renewal that arrives after the release does not take the key back" {
    proxy remember $RENEW
    once "$KEY" -- sh -c "$(noted 'sleep 3')"
    expect_status 0
    [ "$(proxy count $RENEW)" -ge 1 ]
    proxy replay
    finished_once succeeded
    run direct run "$KEY" -- true
    expect_status 0
}

@test "P5 a release whose reply is lost is repeated; the status is the command's" {
    proxy lose-reply $RELEASE
    once "$KEY" -- sh -c "$(noted 'exit 4')"
    expect_status 4
    finished_once failed
}

@test "P5 a release that is lost on its way is sent again" {
    proxy lose-request $RELEASE
    once "$KEY" -- sh -c "$(noted 'exit 4')"
    expect_status 4
    finished_once failed
}

@test "P5 a release that is never answered does not keep leaserun: status within 7 s" {
    proxy drop-request $RELEASE always
    before=$(now_ms)
    once "$KEY" -- sh -c "$(noted true)"
    expect_status 0
    [ $(($(now_ms) - before)) -lt 7000 ]
    expect_one_line
}

@test "P5 a release that comes late does not release the next holder" {
    proxy remember $RELEASE
    once "$KEY" -- sh -c "$(noted true)"
    LEASERUN_STORE=$STORE_URL start_holder
    fence=$(direct_field fence)
    proxy replay
    expect_equal "$(direct_field fence) $(direct_field state)" "$fence held"
}

@test "P6 a holder that is cut off is dead before the next one starts" {
    OPTIONS=(--ttl 5s --grace 2s)
    start "$LEASERUN" run "${OPTIONS[@]}" "$KEY" -- "$TOOLS/stamp" "$STAMPS" 0 --ignore-term
    first=$PID
    await 10 test -s "$STAMPS"
    proxy blackhole on
    LEASERUN_STORE=$STORE_URL start "$LEASERUN" run --ttl 5s --wait 30s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 300
    second=$PID
    finish "$first" 15
    expect_equal "$STATUS" 76
    finish "$second" 20
    expect_equal "$STATUS" 0
    expect_equal "$(no_overlaps "$STAMPS")" "2 lives, no overlap"
}

@test "P6 a holder that is cut off dies although leaserun itself is stopped" {
    OPTIONS=(--ttl 5s --grace 2s)
    start "$LEASERUN" run "${OPTIONS[@]}" "$KEY" -- "$TOOLS/stamp" "$STAMPS" 0 --ignore-term
    first=$PID
    await 10 test -s "$STAMPS"
    kill -STOP "$first"
    LEASERUN_STORE=$STORE_URL start "$LEASERUN" run --ttl 5s --wait 30s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 300
    finish "$PID" 20
    expect_equal "$STATUS" 0
    kill -CONT "$first" 2>/dev/null || true
    expect_equal "$(no_overlaps "$STAMPS")" "2 lives, no overlap"
}

@test "P6 an outage shorter than the lease ends nothing" {
    start "$LEASERUN" run "${OPTIONS[@]}" "$KEY" -- sh -c "$(noted 'echo running; sleep 8')"
    first=$PID
    await 10 has_said "$first" running
    proxy blackhole on
    sleep 4 # an outage has a length
    proxy blackhole off
    proxy cut
    finish "$first" 15
    expect_equal "$STATUS" 0
    finished_once succeeded
}

@test "P5 a server that restarts under a run ends nothing" {
    pg_start restarted
    pg_sql restarted postgres 'create database app'
    LEASERUN_STORE=$(pg_url restarted app)
    leaserun init
    start "$LEASERUN" run "${OPTIONS[@]}" "$KEY" -- sh -c 'echo running; sleep 6; exit 9'
    first=$PID
    await 10 has_said "$first" running
    pg_restart restarted immediate
    finish "$first" 15
    expect_equal "$STATUS" 9
    expect_equal "$(run_field "$KEY" outcome)" failed
    pg_stop restarted immediate
}

@test "P7 a killed leaserun leaves no process and no lease" {
    LEASERUN_STORE=$STORE_URL
    mark=9$RANDOM$RANDOM # seconds, which nobody else sleeps
    start "$LEASERUN" run "$KEY" -- sh -c '
        setsid sh -c "setsid sleep $1 & exec sleep $1" & echo running; exec sleep $1' sh $mark
    await 10 has_said "$PID" running
    await 10 eval '[ "$(pgrep -c -f "sleep $mark$")" -ge 3 ]'
    kill -KILL "$PID"
    await 2 eval '! pgrep -f "sleep $mark$" >/dev/null'
    await 5 eval '[ "$(direct_field state)" = released ]'
    run leaserun run "$KEY" -- true
    expect_status 0
    expect_equal "$(direct history --json "$KEY" | sed -n 2p | json_field outcome)" abandoned
}
