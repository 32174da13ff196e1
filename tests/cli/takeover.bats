#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# A key goes from one mandate to the next: given back, taken away by a person, or run out under a
# holder that stood still. Whatever the old one does then, it does to nobody.
# stores: postgresql sqlite

load ../lib/helpers
load ../lib/faults

setup() {
    fresh_key
    STAMPS=$BATS_TEST_TMPDIR/stamps
}

start_contender() { # OPTION... (of run); runs until stopped; sets PID
    start "$LEASERUN" run --wait 40s "$@" "$KEY" -- "$TOOLS/stamp" "$STAMPS" 0
}

# All that the store knows of a mandate.
mandate() { # KEY
    if [ "$STORE_KIND" = postgresql ]; then
        pg_sql main "$DATABASE" "select leases from leaserun.leases where key = '$1'"
    fi
    leaserun status --json "$1" | sed 's/"remaining_ms":[0-9]*//'
}

ends_by_term() { # PID
    kill -TERM "$1"
    finish "$1" 10
    expect_equal "$STATUS" 143
}

@test "P1 a person's release --stop ends a run that ignores TERM, and another starts only then" {
    start "$LEASERUN" run --ttl 6s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 0 --ignore-term
    first=$PID
    await 10 test -s "$STAMPS"
    start_contender
    contender=$PID
    struck=$(boot_us)
    run --separate-stderr leaserun release --stop "$KEY"
    expect_status 0
    expect_contains "$output" 'next renewal'
    finish "$first" 10
    expect_equal "$STATUS $(count_events "$first" lease_lost)" "76 1"
    expect_equal "$(started_stderr "$first" | wc -l)" 1
    await 5 has_lives "$STAMPS" 2
    measured "from release --stop to the next start, renewals every 1000, grace 1000" \
        "$(second_start "$STAMPS" "$struck")"
    expect_within "$(second_start "$STAMPS" "$struck")" 900 4500
    ends_by_term "$contender"
    expect_equal "$(no_overlaps "$STAMPS")" "2 lives, no overlap"
    expect_equal "$(leaserun history --json "$KEY" | json_field outcome)" $'stopped\nlost'
}

@test "P1 a person's release without --stop leaves a live mandate alone: 75" {
    start_holder
    before=$(mandate "$KEY")
    run --separate-stderr leaserun release "$KEY"
    expect_status 75
    expect_one_line
    expect_contains "$stderr" --stop
    expect_equal "$(mandate "$KEY")" "$before"
    ends_by_term "$PID"
    run leaserun release "$KEY"
    expect_status 0
    run --separate-stderr leaserun release "$KEY.never"
    expect_status 64
    expect_one_line
}

# Frozen: a machine that stood still, with everything on it.
start_frozen() { # sets LEASERUN_PID, GUARD_PID, TREE_PID
    start_stamp "$STAMPS" --ttl 5s
    LEASERUN_PID=$PID
    GUARD_PID=$(guard_of "$PID")
    TREE_PID=$(stamp_pids "$STAMPS")
    kill -STOP "$TREE_PID" "$GUARD_PID" "$LEASERUN_PID"
    STARTED+=("$TREE_PID" "$GUARD_PID")
}

@test "P1 release --stop of a holder that stands still: the key is free at the old expiry, not before" {
    start_frozen
    struck=$(boot_us)
    expires=$(lease_field "$KEY" remaining_ms)
    leaserun release --stop "$KEY" >/dev/null
    start_contender
    await 20 has_lives "$STAMPS" 2
    ms=$(second_start "$STAMPS" "$struck")
    measured "from release --stop to the next start, old expiry in $expires" "$ms"
    expect_within "$ms" $((expires - 20)) $((expires + 2500))
    contender=$PID
    kill -KILL "$TREE_PID" "$GUARD_PID" "$LEASERUN_PID"
    ends_by_term "$contender"
    expect_equal "$(no_overlaps "$STAMPS")" "2 lives, no overlap"
}

# Three frozen machines, whose keys others take over; then on one leaserun goes on, on one its
# guard, on one both and the command.
@test "P5 P6 a holder that stood still past its mandate goes on: the next one's row is untouched, 76" {
    declare -A frozen guards trees contenders before
    base=$KEY
    for who in leaserun guard all; do
        KEY=$base.$who STAMPS=$BATS_TEST_TMPDIR/$who
        start_frozen
        frozen[$who]=$LEASERUN_PID guards[$who]=$GUARD_PID trees[$who]=$TREE_PID
        start_contender --ttl 60s
        contenders[$who]=$PID
    done
    for who in leaserun guard all; do
        await 20 has_lives "$BATS_TEST_TMPDIR/$who" 2
        before[$who]=$(mandate "$base.$who")
    done
    kill -CONT "${frozen[leaserun]}" "${guards[guard]}"
    kill -CONT "${frozen[all]}" "${guards[all]}" "${trees[all]}"
    for who in leaserun guard all; do
        finish "${frozen[$who]}" 10
        case $who in
        guard) expect_equal "$STATUS" 137 ;; # it ends what does not answer
        *) expect_equal "$STATUS $(count_events "${frozen[$who]}" lease_lost)" "76 1" ;;
        esac
        await 10 is_gone "${guards[$who]}"
        is_gone "${trees[$who]}"
        expect_equal "$(mandate "$base.$who")" "${before[$who]}"
    done
    for who in leaserun guard; do # where the command did not go on
        expect_equal "$(no_overlaps "$BATS_TEST_TMPDIR/$who")" "2 lives, no overlap"
    done
    for who in leaserun guard all; do
        expect_equal "$(mandate "$base.$who")" "${before[$who]}"
        ends_by_term "${contenders[$who]}"
        expect_equal "$(leaserun history --json "$base.$who" | json_field outcome)" $'stopped\nabandoned'
    done
}

@test "P1 P2 --wait: the key goes on from a run that ended, one that failed and one that was killed" {
    start "$LEASERUN" run --ttl 60s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 300
    await 10 test -s "$STAMPS"
    run --separate-stderr leaserun run --wait 20s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 100
    expect_status 0
    expect_equal "$stderr" ''

    start "$LEASERUN" run --ttl 60s "$KEY" -- sh -c '"$0" "$1" 300; exit 9' "$TOOLS/stamp" "$STAMPS"
    await 10 has_lives "$STAMPS" 3
    run --separate-stderr leaserun run --wait 20s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 100
    expect_status 0
    expect_equal "$stderr" ''

    start "$LEASERUN" run --ttl 60s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 0
    killed=$PID
    await 10 has_lives "$STAMPS" 5
    start_contender
    await 10 guard_of "$PID" >/dev/null
    kill -KILL "$killed"
    await 10 has_lives "$STAMPS" 6
    ends_by_term "$PID"
    expect_contains "$(started_stderr "$PID")" event=run_abandoned
    expect_equal "$(no_overlaps "$STAMPS")" "6 lives, no overlap"
}

@test "P1 --wait: of four that wait each runs once, and the key is never idle for long" {
    local pids=()
    start_stamp "$STAMPS"
    holder=$PID
    for _ in 1 2 3 4; do
        start "$LEASERUN" run --wait 40s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 100
        pids+=("$PID")
    done
    sleep 0.3 # so that all wait
    ends_by_term "$holder"
    for pid in "${pids[@]}"; do
        finish "$pid" 20
        expect_equal "$STATUS $(started_stderr "$pid")" "0 "
    done
    expect_equal "$(no_overlaps "$STAMPS")" "5 lives, no overlap"
    idle=$(awk '$2 == "start" && last && $1 - last > most { most = $1 - last } $1 > last { last = $1 }
        END { print int(most / 1000) }' "$STAMPS")
    measured 'the longest that the key was idle while others waited' "$idle"
    expect_within "$idle" 0 2000
}

@test "P4 P11 days without a fault leave nothing on stderr and nothing in the server's log" {
    fresh_store
    for _ in 1 2; do
        run --separate-stderr leaserun run "$KEY" -- true
        expect_equal "$status$output$stderr" 0
    done
    run --separate-stderr leaserun run --once-per hour "$KEY.slot" -- true
    expect_equal "$status$output$stderr" 0
    run --separate-stderr leaserun run --once-per hour "$KEY.slot" -- true
    expect_equal "$status$output$stderr" 75
    run --separate-stderr leaserun run --once "$KEY.once" -- true
    expect_equal "$status$output$stderr" 0
    run --separate-stderr leaserun run --once "$KEY.once" -- true
    expect_equal "$status$output$stderr" 0
    start "$LEASERUN" run --ttl 5s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 2500 # renewed thrice
    await 10 test -s "$STAMPS"
    run --separate-stderr leaserun run "$KEY" -- true
    expect_equal "$status$output$stderr" 75
    run --separate-stderr leaserun run --wait 20s "$KEY" -- true
    expect_equal "$status$output$stderr" 0
    finish "$PID" 5
    expect_equal "$STATUS$(started_stderr "$PID")" 0
    for command in status 'status --json' history 'history --json' purge check "release $KEY"; do
        # shellcheck disable=SC2086  # words
        case $command in
        release*) run --separate-stderr leaserun release "$KEY" ;;
        *) run --separate-stderr leaserun $command ;;
        esac
        expect_equal "$status$stderr" 0
    done
    [ "$STORE_KIND" != postgresql ] || expect_equal "$(server_errors)" ''
}
