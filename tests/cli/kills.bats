#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# P7: leaserun or its guard is killed, stopped or aborted, and nothing is left that believes in the
# lease. P1: whatever was killed, two mandates are never alive together.
# stores: postgresql sqlite

load ../lib/helpers
load ../lib/faults

setup() {
    fresh_key
    STAMPS=$BATS_TEST_TMPDIR/stamps
}

# Five processes that leave stamps: one in the command's group, one in another session, one whose
# parents are gone, one that ignores TERM, and the command itself.
tree() {
    cat >"$BATS_TEST_TMPDIR/tree" <<-'END'
	stamp=$1 file=$2
	"$stamp" "$file" 0 &
	setsid sh -c '"$0" "$1" 0; true' "$stamp" "$file" &
	(setsid sh -c 'setsid "$0" "$1" 0 &' "$stamp" "$file" &)
	"$stamp" "$file" 0 --ignore-term &
	exec "$stamp" "$file" 0
	END
    echo "$BATS_TEST_TMPDIR/tree"
}

start_tree() { # OPTION... (of run); sets PID
    start "$LEASERUN" run "$@" "$KEY" -- sh "$(tree)" "$TOOLS/stamp" "$STAMPS"
    await 10 has_lives "$STAMPS" 5
}

is_released() { # KEY
    [ "$(lease_field "$1" state)" = released ]
}

# What every death of leaserun comes to: nothing lives, the key is free, the next one tells.
tree_dies_with_leaserun() { # SIGNAL
    local struck ms
    ulimit -S -c 0
    start_tree --ttl 60s
    guard=$(guard_of "$PID")
    struck=$(strike "$1" "$PID")
    await 5 all_gone "$STAMPS"
    ms=$(last_stamp "$STAMPS" "$struck")
    measured "from $1 of leaserun to the last beat of its tree" "$ms"
    expect_within "$ms" -100 1000
    finish "$PID" 5
    expect_equal "$STATUS" $((128 + $(kill -l "$1")))
    await 2 is_released "$KEY"
    await 2 is_gone "$guard"
    expect_equal "$(run_field "$KEY" outcome)" unfinished
    run --separate-stderr leaserun run "$KEY" -- true
    expect_status 0
    expect_one_line
    expect_contains "$stderr" level=error
    expect_contains "$stderr" event=run_abandoned
    expect_equal "$(leaserun history --json "$KEY" | json_field outcome)" $'succeeded\nabandoned'
}

@test "P7 leaserun is killed: its whole tree dies at once, the key is free, the next winner tells it" {
    tree_dies_with_leaserun KILL
}

@test "P7 leaserun aborts: its whole tree dies at once, the key is free, the next winner tells it" {
    tree_dies_with_leaserun ABRT
}

@test "P7 leaserun is killed at any instant of its start: no process and no lease is left" {
    local pids=() i
    for i in {0..15}; do
        start "$LEASERUN" run "$KEY.$i" -- "$TOOLS/stamp" "$STAMPS" 0
        pids+=("$PID")
        (sleep "$(printf '0.%03d' $((i * 8)))" && kill -KILL "$PID") 3>&- &
    done
    for i in {0..15}; do
        finish "${pids[$i]}" 10
        expect_equal "$STATUS" 137
    done
    await 10 eval '! pgrep -f "$KEY" >/dev/null'
    await 2 eval '! pgrep -f "$STAMPS" >/dev/null'
    for i in {0..15}; do
        run --separate-stderr leaserun run "$KEY.$i" -- true
        expect_status 0
    done
}

@test "P7 leaserun is killed while it waits for the key: its guard goes and takes nothing" {
    start_holder
    holder=$PID
    fence=$(lease_field "$KEY" fence)
    start "$LEASERUN" run --wait 60s --log-level info "$KEY" -- "$TOOLS/stamp" "$STAMPS" 0
    await 10 eval '[ "$(count_events "$PID" claim_waits)" = 1 ]'
    guard=$(guard_of "$PID")
    kill -KILL "$PID"
    await 2 is_gone "$guard"
    expect_equal "$(lease_field "$KEY" state) $(lease_field "$KEY" fence)" "held $fence"
    kill -TERM "$holder"
    finish "$holder" 10
    expect_equal "$(lease_field "$KEY" state) $(lease_field "$KEY" fence)" "released $fence"
    [ ! -e "$STAMPS" ]
}

@test "P6 leaserun is stopped for good: its tree is dead by the deadline, the guard frees the key, another starts after" {
    start_tree --ttl 5s
    first=$PID
    own=$KEY own_stamps=$STAMPS
    KEY=$KEY.2 STAMPS=$STAMPS.2
    start_tree --ttl 5s
    second=$PID
    start "$LEASERUN" run --ttl 5s --wait 30s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 100
    contender=$PID
    struck=$(strike STOP "$first" "$second")

    finish "$first" 10
    expect_equal "$STATUS" 137
    # Deadline: at most ttl less margin after the last renewal, which left before the stop.
    ms=$(last_stamp "$own_stamps" "$struck")
    measured 'from STOP of leaserun to the last beat of its tree, deadline 4000' "$ms"
    expect_within "$ms" 1500 4400
    await 2 is_released "$own"
    expect_equal "$(run_field "$own" outcome)" unfinished

    finish "$contender" 15
    expect_equal "$STATUS" 0
    finish "$second" 5
    expect_equal "$STATUS" 137
    expect_equal "$(no_overlaps "$STAMPS")" "6 lives, no overlap"
    expect_contains "$(started_stderr "$contender")" event=run_abandoned
}

@test "P6 leaserun is stopped and continued within the ttl: its command goes on to its end" {
    start "$LEASERUN" run --ttl 6s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 6500
    await 10 test -s "$STAMPS"
    fence=$(lease_field "$KEY" fence)
    kill -STOP "$PID"
    sleep 3 # renewals are due every second
    kill -CONT "$PID"
    finish "$PID" 10
    expect_equal "$STATUS $(started_stderr "$PID")" "0 "
    expect_equal "$(run_field "$KEY" outcome) $(lease_field "$KEY" fence)" "succeeded $fence"
}

@test "P7 the guard is killed: leaserun ends the tree at once, tells it, gives the key back: 137" {
    start_tree --ttl 60s
    struck=$(strike KILL "$(guard_of "$PID")")
    finish "$PID" 10
    expect_equal "$STATUS" 137
    all_gone "$STAMPS"
    ms=$(last_stamp "$STAMPS" "$struck")
    measured 'from KILL of the guard to the last beat of the tree' "$ms"
    expect_within "$ms" -100 1000
    expect_equal "$(count_events "$PID" guard_died)" 1
    expect_equal "$(started_stderr "$PID" | wc -l)" 1
    expect_equal "$(lease_field "$KEY" state)" released
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" status)" "failed 137"
}

@test "P7 the guard is killed while leaserun waits for the key: leaserun tells it and ends: 71" {
    start_holder
    fence=$(lease_field "$KEY" fence)
    start "$LEASERUN" run --wait 60s --log-level info "$KEY" -- "$TOOLS/stamp" "$STAMPS" 0
    await 10 eval '[ "$(count_events "$PID" claim_waits)" = 1 ]'
    kill -KILL "$(guard_of "$PID")"
    finish "$PID" 5
    expect_equal "$STATUS $(count_events "$PID" guard_died)" "71 1"
    expect_equal "$(lease_field "$KEY" state) $(lease_field "$KEY" fence)" "held $fence"
    [ ! -e "$STAMPS" ]
}

# With both gone nobody frees the key: a server waits for the expiry, one host sees that they died.
@test "P1 leaserun and its guard are killed together: the command dies too, another runs after it" {
    start_stamp "$STAMPS" --ttl 5s
    # Stopped, leaserun does not see the guard die. (Not the other way round: a stopped guard is
    # continued by the kernel when leaserun dies, as its process group is orphaned.)
    kill -STOP "$PID"
    before=$(boot_us)
    left=$(lease_field "$KEY" remaining_ms)
    strike KILL "$(guard_of "$PID")" "$PID"
    wait=20s
    [ "$STORE_KIND" = postgresql ] || wait=0
    run --separate-stderr leaserun run --wait $wait "$KEY" -- "$TOOLS/stamp" "$STAMPS" 50
    expect_status 0
    expect_contains "$stderr" event=run_abandoned
    expect_equal "$(no_overlaps "$STAMPS")" "2 lives, no overlap"
    ms=$(second_start "$STAMPS" "$before")
    measured "from KILL of leaserun and guard to the next start, lease left $left" "$ms"
    if [ "$STORE_KIND" = postgresql ]; then
        expect_within "$ms" $((left - 20)) $((left + 3500))
    else
        expect_within "$ms" 0 2000
    fi
}

@test "P7 the guard is stopped: the command lives on, its end is told once the guard goes on" {
    start "$LEASERUN" run --ttl 5s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 1000
    await 10 test -s "$STAMPS"
    guard=$(guard_of "$PID")
    kill -STOP "$guard"
    sleep 2
    expect_equal "$(lease_field "$KEY" state)" held
    kill -CONT "$guard"
    finish "$PID" 5
    expect_equal "$STATUS $(started_stderr "$PID")" "0 "
}

@test "P7 the guard is stopped: TERM and a person's release end the tree all the same" {
    start_tree --ttl 60s --grace 500ms
    by_term=$PID guards=("$(guard_of "$PID")")
    KEY=$KEY.2 STAMPS=$STAMPS.2
    start_tree --ttl 5s
    by_hand=$PID guards+=("$(guard_of "$PID")")
    kill -STOP "${guards[@]}"
    struck=$(strike TERM "$by_term")
    leaserun release --stop "$KEY" >/dev/null

    finish "$by_term" 5
    expect_equal "$STATUS $(count_events "$by_term" guard_died)" "137 1"
    all_gone "${STAMPS%.2}"
    ms=$(last_stamp "${STAMPS%.2}" "$struck")
    measured 'from TERM, with a stopped guard and a grace of 500, to the last beat' "$ms"
    expect_within "$ms" 400 2000
    finish "$by_hand" 10
    expect_equal "$STATUS" 76
    all_gone "$STAMPS"
    is_gone "${guards[0]}" && is_gone "${guards[1]}"
    expect_equal "$(lease_field "$KEY" state) $(lease_field "${KEY%.2}" state)" "released released"
}

@test "P7 all of this leaves no ERROR line in the server's log" {
    [ "$STORE_KIND" = postgresql ] || skip 'a file has no log'
    expect_equal "$(server_errors)" ''
}
