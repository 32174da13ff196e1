#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# P3: --once succeeds once, --once-per starts once, --hold-at-least keeps others away, and
# --start-within gives up.
# stores: postgresql sqlite

load ../lib/helpers

setup() {
    fresh_key
    STARTS=$BATS_TEST_TMPDIR/starts
    : >"$STARTS"
}

# `run`, with its start noted.
noting() { # OPTION... -- COMMAND (for sh)
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    run --separate-stderr leaserun run "${options[@]}" "$KEY" -- sh -c "echo \$LEASERUN_FENCE >>'$STARTS'; $2"
}

expect_starts() { # COUNT
    expect_equal "$(wc -l <"$STARTS")" "$1"
}

expect_silence() { # STATUS
    expect_status "$1"
    expect_equal "$output$stderr" ''
}

# Five at the same time, with these options; sets PIDS.
start_five() { # OPTION... -- COMMAND (for sh)
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    PIDS=()
    for _ in 1 2 3 4 5; do
        start "$LEASERUN" run "${options[@]}" "$KEY" -- sh -c "echo \$LEASERUN_FENCE >>'$STARTS'; $2"
        PIDS+=("$PID")
    done
}

# Awaits all five; sets STATUSES, sorted, in one line.
finish_five() {
    local pid all=()
    for pid in "${PIDS[@]}"; do
        finish "$pid" 30
        all+=("$STATUS")
    done
    STATUSES=$(printf '%s\n' "${all[@]}" | sort -n | paste -sd' ')
}

@test "P3 --once on five hosts at once: one runs it, the others are turned away, later ones end well without a run" {
    start_five --once -- 'sleep 1'
    finish_five
    expect_equal "$STATUSES" "0 75 75 75 75"
    for pid in "${PIDS[@]}"; do
        expect_equal "$(started_stderr "$pid")" ''
    done
    start_five --once -- true
    finish_five
    expect_equal "$STATUSES" "0 0 0 0 0"
    expect_starts 1
}

@test "P3 --once with --wait on five hosts: one runs it, the others wait for it and end well" {
    start_five --once --wait 20s -- 'sleep 1'
    finish_five
    expect_equal "$STATUSES" "0 0 0 0 0"
    expect_starts 1
}

@test "P3 --once fails, is ended by its timeout, by a signal, and with its leaserun: each time the next may try, once it succeeds none" {
    noting --once -- 'exit 3'
    expect_status 3
    noting --once --timeout 200ms -- 'exec sleep 60'
    expect_status 124
    noting --once -- 'kill -KILL $$'
    expect_status 137
    start "$LEASERUN" run --once "$KEY" -- sh -c "echo >>'$STARTS'; echo running; exec sleep 60"
    await 10 has_said "$PID" running
    kill -TERM "$PID"
    finish "$PID" 10
    expect_equal "$STATUS" 143
    start "$LEASERUN" run --once "$KEY" -- sh -c "echo >>'$STARTS'; echo running; exec sleep 60"
    await 10 has_said "$PID" running
    kill -KILL "$PID"
    run --separate-stderr leaserun run --once --wait 10s "$KEY" -- sh -c "echo >>'$STARTS'"
    expect_status 0
    expect_contains "$stderr" event=run_abandoned
    expect_starts 6
    noting --once -- true
    expect_silence 0
    expect_starts 6
    expect_equal "$(leaserun history --json "$KEY" | json_field outcome | paste -sd' ')" \
        'succeeded abandoned stopped failed timed_out failed'
}

@test "P3 five with --once and --wait, the first two fail: the third succeeds, the others end well" {
    start_five --once --wait 30s -- "sleep 0.2; [ \$(wc -l <'$STARTS') -ge 3 ]"
    finish_five
    expect_equal "$STATUSES" "0 0 0 1 1"
    expect_starts 3
}

@test "P3 a run without --once leaves --once alone, and runs after it" {
    noting -- true
    expect_status 0
    noting --once -- true
    expect_status 0
    noting -- true
    expect_status 0
    noting --once -- true
    expect_silence 0
    expect_starts 3
}

@test "P3 a purge does not open --once again, purge --forget does, for this key only" {
    local mine=$KEY
    noting --once -- true
    KEY="$mine, another"
    noting --once -- true
    sleep 0.01
    run -0 leaserun purge --retention 1ms
    for KEY in "$mine" "$mine, another"; do
        noting --once -- true
        expect_silence 0
    done
    expect_starts 2
    run -0 leaserun purge --forget "$mine"
    KEY="$mine, another"
    noting --once -- true
    expect_starts 2
    KEY=$mine
    noting --once -- true
    expect_status 0
    expect_starts 3
    # The fence grows although the row has gone.
    expect_equal "$(sort -n "$STARTS")" "$(cat "$STARTS")"
}

# Should the period end between the two, they are of two slots, and it is tried again.
@test "P3 a slot of a minute, an hour, a day is started once, whatever became of it" {
    for period in minute hour day; do
        for _ in 1 2; do
            fresh_key
            : >"$STARTS"
            noting --once-per $period -- 'exit 3'
            expect_status 3
            noting --once-per $period -- true
            [ "$(leaserun history --json "$KEY" | wc -l)" -gt 1 ] || break
        done
        expect_silence 75
        expect_starts 1
    done
}

@test "P3 five with --once-per and --wait at once: one starts the slot, the others are told that it is done" {
    for _ in 1 2; do
        fresh_key
        : >"$STARTS"
        start_five --once-per hour --wait 20s -- 'sleep 0.5'
        finish_five
        [ "$(leaserun history --json "$KEY" | json_field slot | sort -u | wc -l)" -gt 1 ] || break
    done
    expect_equal "$STATUSES" "0 75 75 75 75"
    expect_starts 1
}

@test "--hold-at-least: a short command's key stays taken until then, a long one's is free at its end" {
    local before
    before=$(now_ms)
    noting --hold-at-least 3s -- true
    expect_status 0
    [ $(($(now_ms) - before)) -lt 1500 ] # it does not wait itself
    expect_equal "$(lease_field "$KEY" state)" "on_hold"
    noting -- true
    expect_silence 75
    noting --wait 10s -- true
    expect_status 0
    [ $(($(now_ms) - before)) -ge 3000 ]
    [ $(($(now_ms) - before)) -lt 5000 ]
    expect_starts 2
    noting --hold-at-least 200ms -- 'sleep 0.4'
    noting -- true
    expect_status 0
    expect_starts 4
}

# Of two instants half a year apart one is in summer time: their days are no sum of hours.
@test "--hold-at-least counts hours, whatever the zone of the server's sessions is" {
    [ "$STORE_KIND" = postgresql ] || skip 'has no zone'
    leaserun run "$KEY" -- true
    PGTZ=Europe/Paris leaserun run --once-per hour --hold-at-least 4392h "$KEY" -- true
    expect_equal "$(pg_sql main "$DATABASE" "select extract(epoch from not_before - acquired_at)::int
        from leaserun.leases where key = '$KEY'")" $((4392 * 3600))
}

@test "--hold-at-least holds after a failure too, and by --held-exit is told as any other holder" {
    noting --hold-at-least 1m -- false
    expect_status 1
    noting --held-exit 0 --log-level info -- true
    expect_status 0
    expect_contains "$stderr" event=claim_held
    expect_starts 1
    run --separate-stderr leaserun release "$KEY"
    noting -- true
    expect_status 75
}

# ---- the store is down -----------------------------------------------------------------------

# Nobody can use it until store_up; sets DOWN_URL, which is the store's by this way.
store_down() {
    DOWN_URL=$STORE_URL
    if [ "$STORE_KIND" = postgresql ]; then
        proxy_start
        proxy refuse on
        DOWN_URL=$PROXY_URL
        return
    fi
    leaserun run "$KEY.0" -- true # there is a file
    cat >"$BATS_TEST_TMPDIR/lock.py" <<-'END'
	import signal, sqlite3, sys
	file = sqlite3.connect(sys.argv[1], isolation_level=None)
	file.execute('PRAGMA locking_mode = EXCLUSIVE')
	file.execute('BEGIN EXCLUSIVE')
	print('locked', flush=True)
	signal.pause()
	END
    start python3 "$BATS_TEST_TMPDIR/lock.py" "$STORE_FILE"
    LOCKER=$PID
    await 10 has_said "$LOCKER" locked
}

store_up() {
    if [ "$STORE_KIND" = postgresql ]; then
        proxy refuse off
    else
        kill -TERM "$LOCKER"
    fi
}

@test "P4 the store is down: a run, a slot and --once give up after --start-within, each in one line, 69" {
    store_down
    for options in '' '--once-per hour' --once; do
        local before took
        before=$(now_ms)
        # shellcheck disable=SC2086  # words
        run --separate-stderr env LEASERUN_STORE="$DOWN_URL" "$LEASERUN" run --start-within 1500ms $options \
            "$KEY" -- touch "$BATS_TEST_TMPDIR/ran"
        expect_status 69
        expect_one_line
        expect_contains "$stderr" 'event=claim_failed'
        took=$(($(now_ms) - before))
        [ $took -ge 1400 ]
        [ $took -lt 3500 ]
    done
    store_up
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
    expect_equal "$(leaserun history --json "$KEY")" ''
}

@test "P11 the store is down when a slot is due and up within --start-within: the slot is run" {
    store_down
    LEASERUN_STORE=$DOWN_URL start "$LEASERUN" run --start-within 10s --once-per hour "$KEY" -- sh -c "echo >>'$STARTS'"
    sleep 1.5
    expect_starts 0
    store_up
    finish "$PID" 8
    expect_equal "$STATUS" 0
    expect_starts 1
    expect_equal "$(run_field "$KEY" outcome)" succeeded
}
