#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# P3: --once-per on hosts whose clocks differ. Each names a slot by its own clock, as its cron has
# fired by that clock; the server's clock says whether the slot has come or is over.
# stores: postgresql

load ../lib/helpers
load ../lib/clocks

setup_file() {
    clocks_begin
    clocked_server slots
    pg_sql slots postgres 'create database app'
    export DATABASE=app LEASERUN_STORE TZ=UTC
    LEASERUN_STORE=$(pg_url slots app)
    leaserun init
}

teardown_file() {
    pg_stop slots immediate
    clocks_end
}

setup() {
    fresh_key
    SLOT_NAME=2031-05-06T07:00:00Z
    SLOT=$(date -d "$SLOT_NAME" +%s)
    STARTS=$BATS_TEST_TMPDIR/starts
    : >"$STARTS"
    JOB=(sh -c 'echo "$LEASERUN_SLOT" >>"$0"' "$STARTS") # takes a few milliseconds
}

plus() { # SECONDS SECONDS...
    printf '%s\n' "$@" | awk '{ sum += $1 } END { printf "%.3f\n", sum }'
}

# By the server's clock it is now so many seconds after the slot.
it_is() { # SECONDS
    OFFSET=$(plus "$SLOT" "$1" "-$EPOCHREALTIME")
    server_clock slots "$OFFSET"
}

# A command on a host whose clock is so many seconds ahead of the server's.
on_host() { # SECONDS COMMAND...
    local clock
    clock=$(clock_file "$(plus "$OFFSET" "$1")")
    shift
    under_clock "$clock" "$@"
}

# What a host's crontab does at the start of the slot by its own clock; sets status and stderr.
cron_fires() { # SECONDS-AHEAD OPTION...
    local ahead=$1
    shift
    run --separate-stderr on_host "$ahead" "$LEASERUN" run "$@" "$KEY" -- "${JOB[@]}"
}

expect_silence() { # STATUS
    expect_status "$1"
    expect_equal "$output$stderr" ''
}

@test "P3 three hosts, one 20 s ahead and one 20 s behind: one runs the slot, the others 75, and so the next" {
    it_is -19.8
    start on_host 20 "$LEASERUN" run --once-per minute "$KEY" -- "${JOB[@]}"
    ahead=$PID
    sleep 19.7
    # It and the host whose clock is right come within the same instants.
    cron_fires 0.3 --once-per minute
    right=$status
    finish "$ahead" 5
    expect_equal "$(sort -n <<<"$right"$'\n'"$STATUS")" $'0\n75'
    expect_equal "$stderr$(started_stderr "$ahead")" ''
    it_is 20.2
    cron_fires -20 --once-per minute
    expect_silence 75
    expect_equal "$(cat "$STARTS")" "$SLOT_NAME"

    it_is 60.2
    cron_fires 0 --once-per minute
    expect_silence 0
    it_is 80.2
    cron_fires -20 --once-per minute
    expect_silence 75
    expect_equal "$(cat "$STARTS")" "$SLOT_NAME"$'\n2031-05-06T07:01:00Z'
    expect_equal "$(leaserun history --json "$KEY" | json_field outcome)" $'succeeded\nsucceeded'
}

@test "P3 a host that is 2.5 s ahead waits for the slot by the server's clock, and runs it" {
    it_is -2.4
    before=$(now_ms)
    cron_fires 2.5 --once-per minute --log-level info
    expect_status 0
    took=$(($(now_ms) - before))
    [ $took -ge 2300 ]
    [ $took -lt 4000 ]
    expect_equal "$(grep -c event=slot_early <<<"$stderr")" 1
    started=$(run_field "$KEY" started_at)
    [[ $started > 2031-05-06T07:00:00 ]]
    [[ $started < 2031-05-06T07:00:02 ]]
    expect_equal "$(run_field "$KEY" slot)" "$(lease_field "$KEY" slot)"
    [[ $(run_field "$KEY" slot) == 2031-05-06T07:00:00* ]]
}

@test "P3 a host that is ahead and one that is right wait for the slot and meet: one runs it" {
    it_is -1.6
    start on_host 1.8 "$LEASERUN" run --once-per minute "$KEY" -- "${JOB[@]}"
    first=$PID
    start on_host 1.9 "$LEASERUN" run --once-per minute "$KEY" -- "${JOB[@]}"
    finish "$PID" 5
    second=$STATUS
    finish "$first" 5
    expect_equal "$(sort -n <<<"$second"$'\n'"$STATUS")" $'0\n75'
    expect_equal "$(cat "$STARTS")" "$SLOT_NAME"
}

@test "P3 P4 a host that is 90 s ahead says so once, at ERROR, and waits; ended by TERM, it leaves the slot open" {
    it_is -89.9
    start on_host 90 "$LEASERUN" run --once-per minute "$KEY" -- "${JOB[@]}"
    await 10 grep -q event=clock_ahead "${OUTPUT[$PID]}.err"
    expect_contains "$(started_stderr "$PID")" level=error
    sleep 1
    kill -TERM "$PID"
    finish "$PID" 3
    expect_equal "$STATUS $(started_stderr "$PID" | wc -l)" "143 1"
    expect_equal "$(leaserun history --json "$KEY")" ''
    it_is 0.2
    cron_fires 0 --once-per minute
    expect_silence 0
    expect_equal "$(cat "$STARTS")" "$SLOT_NAME"
}

@test "P3 a host that is 100 s behind starts the slot that nobody has started" {
    it_is 100
    cron_fires -99.9 --once-per minute
    expect_silence 0
    expect_equal "$(cat "$STARTS")" "$SLOT_NAME"
}

@test "P3 P4 a slot whose window is over: 75, told at ERROR by the first host alone, recorded as missed once" {
    it_is 200
    cron_fires -199.9 --once-per minute
    expect_status 75
    expect_one_line
    expect_contains "$stderr" 'level=error event=slot_missed'
    cron_fires -195 --once-per minute
    expect_silence 75
    cron_fires -190 --once-per minute --start-within 10m
    expect_silence 75
    expect_equal "$(cat "$STARTS")" ''
    run -0 leaserun history --json "$KEY"
    expect_equal "${#lines[@]}" 1
    expect_equal "$(json_field outcome <<<"$output") $(json_field started_at <<<"$output")" "missed None"
    # It holds nothing up.
    it_is 240
    cron_fires 0 --once-per minute
    expect_silence 0
}

@test "P3 --start-within widens and narrows the window" {
    it_is 66
    cron_fires -65.9 --once-per minute --start-within 5s
    expect_status 75
    expect_contains "$stderr" event=slot_missed
    fresh_key
    it_is 500
    cron_fires -499.9 --once-per minute --start-within 10m
    expect_silence 0
}

@test "P3 the slot of an hour and of a day is run once by hosts with other clocks, and the next one again" {
    declare -A seconds=([hour]=3600 [day]=86400)
    SLOT=$(date -d 2031-05-06T00:00:00Z +%s)
    for period in hour day; do
        fresh_key
        it_is 1
        cron_fires 0 --once-per $period
        expect_silence 0
        it_is 21
        cron_fires -20 --once-per $period
        expect_silence 75
        it_is $((seconds[$period] - 60))
        cron_fires 20 --once-per $period
        expect_silence 75
        it_is $((seconds[$period] + 1))
        cron_fires 0 --once-per $period
        expect_silence 0
    done
    expect_equal "$(sort "$STARTS")" "$(sort <<-END
	2031-05-06T00:00:00Z
	2031-05-06T01:00:00Z
	2031-05-06T00:00:00Z
	2031-05-07T00:00:00Z
	END
    )"
}

@test "P3 hours and days begin as they do where the host is" {
    export TZ=Asia/Kolkata # 5:30 ahead of UTC
    it_is 1800 # 13:00 there
    cron_fires 0 --once-per hour
    expect_silence 0
    cron_fires 0 --once-per day
    expect_silence 0
    expect_equal "$(cat "$STARTS")" $'2031-05-06T07:30:00Z\n2031-05-05T18:30:00Z'
}

@test "P3 the slot's command runs longer than the next slot takes to come: that one is turned away, not both lost" {
    it_is 0.2
    start on_host 0 "$LEASERUN" run --once-per minute "$KEY" -- sleep 3
    await 10 is_held "$KEY"
    it_is 60.2
    cron_fires 0 --once-per minute
    expect_silence 75
    finish "$PID" 10
    expect_equal "$STATUS" 0
    # Not started, the slot is open until its window is over.
    it_is 70
    cron_fires -9.9 --once-per minute
    expect_silence 0
    expect_equal "$(cat "$STARTS")" 2031-05-06T07:01:00Z
}

@test "P3 all of this leaves no ERROR line in the server's log" {
    expect_equal "$(server_errors slots app)" ''
}
