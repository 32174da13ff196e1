#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# What the command leaves behind: ended, waited for or left, as --leftovers says, and only then is
# the lease given back.
# stores: postgresql sqlite

load ../lib/helpers

setup() {
    fresh_key
    export LEFT=$BATS_TEST_TMPDIR/left # takes the pids of what is left
    LOG=$BATS_TEST_TMPDIR/stamps
}

teardown() {
    stop_started
    local pid
    for pid in $(cat "$LEFT" 2>/dev/null); do
        kill -KILL "$pid" 2>/dev/null || true
    done
}

# Ways to leave a process behind that outlives the command; each writes its pid to LEFT.
BACKGROUND='sleep 60 & echo $! >>"$LEFT"'
SESSION='setsid sh -c "echo \$\$ >>\"$LEFT\"; exec sleep 60" &'
DAEMON='(setsid sh -c "(sh -c \"echo \\\$\\\$ >>\\\"\$LEFT\\\"; exec sleep 60\" >/dev/null 2>&1 </dev/null &)" &)'
# All of them, once they run.
ALL="$BACKGROUND
$SESSION
$DAEMON
until [ \"\$(wc -l <\"\$LEFT\")\" -eq 3 ]; do sleep 0.02; done"

has_left() { # COUNT
    [ "$(wc -l <"$LEFT")" -eq "$1" ]
}

# None of LEFT is alive when leaserun has returned.
expect_all_gone() { # COUNT
    has_left "$1"
    local pid
    for pid in $(cat "$LEFT"); do
        is_gone "$pid" || { ps -p "$pid" -o pid,ppid,stat,args >&2 && return 1; }
    done
}

@test "P10 a child in the background that holds the output open: returns at once, with what was said" {
    since=$(now_ms)
    expect_equal "$(leaserun run "$KEY" -- sh -c 'sleep 60 & echo hi' 2>/dev/null)" hi
    [ $(($(now_ms) - since)) -lt 2000 ]
}

@test "kill: children in the background, in another session and daemons are ended, with one line that names them" {
    run --separate-stderr leaserun run --leftovers kill "$KEY" -- sh -c "$ALL; exit 3"
    expect_status 3
    expect_all_gone 3
    warned=$(grep 'left 3 processes' <<<"$stderr")
    expect_equal "$(wc -l <<<"$warned")" 1
    for pid in $(cat "$LEFT"); do
        expect_contains "$warned" "sleep (pid $pid)"
    done
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" status)" 'failed 3'
}

@test "kill is what happens when nothing is said" {
    run leaserun run "$KEY" -- sh -c "$BACKGROUND"
    expect_status 0
    expect_all_gone 1
}

@test "P11 what ends by itself at once is not spoken of" {
    run leaserun run "$KEY" -- bash -c 'echo one > >(cat); (sleep 0.03 &)'
    expect_status 0
    expect_equal "$output" one
}

@test "P1 kill: one that ignores TERM is killed after --grace, and the next holder comes after its death" {
    start "$LEASERUN" run --grace 1s "$KEY" -- sh -c '"$0" "$1" 0 --ignore-term & echo $! >>"$LEFT"
        until [ -s "$1" ]; do sleep 0.02; done' "$TOOLS/stamp" "$LOG"
    holder=$PID
    await 10 test -s "$LOG"
    since=$(now_ms)
    start "$LEASERUN" run --wait 30s "$KEY" -- "$TOOLS/stamp" "$LOG" 30
    waiter=$PID
    finish "$holder" 10
    expect_equal "$STATUS" 0
    [ $(($(now_ms) - since)) -ge 700 ]
    expect_all_gone 1
    finish "$waiter" 10
    expect_equal "$STATUS" 0
    expect_equal "$(no_overlaps "$LOG")" '2 lives, no overlap'
}

@test "kill: one that starts another when it is told to end is ended with its successors" {
    # Each of at most 40 starts the next and goes.
    run leaserun run --grace 200ms "$KEY" -- bash -c 'step() {
            [ "$1" -lt 40 ] || return 0
            trap "" TERM
            echo "$BASHPID" >>"$LEFT"
            sleep 0.05
            step $(($1 + 1)) &
        }
        step 0 &'
    expect_status 0
    left=$(wc -l <"$LEFT")
    [ "$left" -ge 2 ]
    [ "$left" -lt 40 ]
    expect_all_gone "$left"
    sleep 0.2
    has_left "$left"
}

@test "P1 wait: the lease is kept until they end by themselves, and one line names them" {
    start "$LEASERUN" run --leftovers wait --ttl 5s "$KEY" -- sh -c '"$0" "$1" 1500 &
        echo $! >>"$LEFT"; until [ -s "$1" ]; do sleep 0.02; done; exit 4' "$TOOLS/stamp" "$LOG"
    holder=$PID
    await 10 test -s "$LOG"
    start "$LEASERUN" run --wait 30s "$KEY" -- "$TOOLS/stamp" "$LOG" 30
    waiter=$PID
    finish "$holder" 10
    expect_equal "$STATUS" 4
    expect_all_gone 1
    expect_equal "$(grep -c "stamp (pid $(cat "$LEFT")).*until they end" <<<"$(started_stderr "$holder")")" 1
    finish "$waiter" 10
    expect_equal "$(no_overlaps "$LOG")" '2 lives, no overlap'
    expect_equal "$(tail -n 1 "$LOG" | cut -d' ' -f2)" end
    expect_equal "$(grep -c ' end ' "$LOG")" 2 # none was killed
}

@test "wait: TERM to leaserun, and --timeout, end what is waited for" {
    start "$LEASERUN" run --leftovers wait "$KEY" -- sh -c "$ALL"
    await 10 has_left 3
    await 10 eval 'started_stderr '"$PID"' | grep -q "until they end"'
    kill -TERM "$PID"
    finish "$PID" 10
    expect_all_gone 3
    expect_equal "$(run_field "$KEY" outcome)" stopped
    : >"$LEFT"
    run leaserun run --leftovers wait --timeout 1s "$KEY" -- sh -c "$ALL"
    expect_status 124
    expect_all_gone 3
}

@test "leave: the lease is given back at once, without a word, and what was started lives on" {
    since=$(now_ms)
    leaserun run --leftovers leave "$KEY" -- sh -c "$ALL" >/dev/null 2>"$BATS_TEST_TMPDIR/said" 3>&-
    [ $(($(now_ms) - since)) -lt 2000 ]
    expect_equal "$(cat "$BATS_TEST_TMPDIR/said")" ''
    expect_equal "$(lease_field "$KEY" state)" released
    run leaserun run "$KEY" -- true
    expect_status 0
    for pid in $(cat "$LEFT"); do
        kill -0 "$pid"
    done
    has_left 3
    run pgrep -f -- "^leaserun-guard $KEY"
    expect_status 1
}

@test "leave: TERM and --timeout end the whole tree all the same" {
    start "$LEASERUN" run --leftovers leave --grace 1s "$KEY" -- sh -c "trap '' TERM; $ALL; sleep 60"
    await 10 has_left 3
    kill -TERM "$PID"
    finish "$PID" 10
    expect_all_gone 3
    : >"$LEFT"
    run leaserun run --leftovers leave --timeout 1s --grace 500ms "$KEY" -- sh -c "trap '' TERM; $ALL; sleep 60"
    expect_status 124
    expect_all_gone 3
}
