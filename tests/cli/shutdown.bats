#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# The end of a scheduler: commands get TERM at once, leases are free, the exit status is 0, and it
# is all over within shutdown-grace.
# stores: postgresql sqlite

load ../lib/helpers

setup() {
    TABLE=$BATS_TEST_TMPDIR/jobs.ini
    RAN=$BATS_TEST_TMPDIR/ran
    : >"$RAN"
    NAME=job$BATS_TEST_NUMBER-$RANDOM
}

# The command of the only job, and lines of [schedule]; sets PID once it runs.
start_with_command() { # COMMAND [LINE...]
    {
        printf '[defaults]\ntimezone = UTC\n[job %s]\nschedule = @reboot\ncommand = %s\n' \
            "$NAME" "$1"
        shift
        printf '[schedule]\n'
        [ $# -eq 0 ] || printf '%s\n' "$@"
    } >"$TABLE"
    KEY=$NAME@$(hostname)
    start "$LEASERUN" schedule "$TABLE"
    await 10 has_started
}

has_started() {
    grep -q started "$RAN"
}

complaints() { # PID
    started_stderr "$1" | grep -E ' level=error ' || true
}

@test "the command ends on TERM with 0: exit 0 at once, nothing at error, the lease is free" {
    start_with_command "trap 'echo term >>$RAN; exit 0' TERM; echo started >>$RAN; sleep 60 & wait"
    local begun
    begun=$(now_ms)
    kill -TERM "$PID"
    finish "$PID" 5
    expect_equal "$STATUS" 0
    [ $(($(now_ms) - begun)) -lt 3000 ]
    expect_contains "$(cat "$RAN")" term
    expect_equal "$(complaints "$PID")" ''
    expect_equal "$(lease_field "$KEY" state)" released
    expect_equal "$(run_field "$KEY" outcome)" stopped
}

@test "the command ignores TERM: killed two seconds before shutdown-grace is over, exit 0 within it" {
    start_with_command "trap '' TERM; echo started >>$RAN; sleep 60" 'shutdown-grace = 4s'
    local begun took
    begun=$(now_ms)
    kill -TERM "$PID"
    finish "$PID" 5
    took=$(($(now_ms) - begun))
    expect_equal "$STATUS" 0
    [ "$took" -ge 1900 ]
    [ "$took" -le 4500 ]
    expect_equal "$(lease_field "$KEY" state)" released
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" status)" 'stopped 137'
    expect_contains "$(complaints "$PID")" run_stopped
}

@test "a second signal ends it at once" {
    start_with_command "trap '' TERM; echo started >>$RAN; sleep 60" 'shutdown-grace = 60s'
    kill -TERM "$PID"
    await 5 grep -q scheduler_stopping "${OUTPUT[$PID]}.err"
    kill -TERM "$PID"
    finish "$PID" 5
    expect_equal "$STATUS" 0
    expect_equal "$(lease_field "$KEY" state)" released
}

@test "on-shutdown = wait: the command ends by itself, and has succeeded" {
    start_with_command "echo started >>$RAN; sleep 2; echo done >>$RAN" 'on-shutdown = wait'
    kill -TERM "$PID"
    finish "$PID" 10
    expect_equal "$STATUS" 0
    expect_contains "$(cat "$RAN")" done
    expect_equal "$(run_field "$KEY" outcome)" succeeded
}

@test "nothing runs and the store does not answer: exit 0 within a second" {
    [ "$STORE_KIND" = postgresql ] || skip 'SQLite has no server'
    proxy_start
    printf '[defaults]\ntimezone = UTC\n[job %s]\nschedule = every 1s\ncommand = true\n' "$NAME" \
        >"$TABLE"
    start "$LEASERUN" schedule --store "$PROXY_URL" "$TABLE"
    await 10 grep -q run_finished "${OUTPUT[$PID]}.err"
    proxy blackhole on
    sleep 1.2
    local begun
    begun=$(now_ms)
    kill -TERM "$PID"
    finish "$PID" 5
    expect_equal "$STATUS" 0
    [ $(($(now_ms) - begun)) -lt 2500 ]
    expect_equal "$(complaints "$PID")" ''
}
